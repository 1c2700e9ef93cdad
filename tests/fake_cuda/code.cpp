// tests/fake_cuda/code.cpp -- modules, links and launches of the fake CUDA driver.
//
// An image is text, "adjit fake cubin" and then the name of each function on a line, whose kernels
// do nothing; or bitcode, whose kernels the emulator runs.
#include <algorithm>
#include <cstring>
#include <exception>
#include <sstream>
#include <string>
#include <utility>

#include "jit/cuda/driver_numbers.hpp"
#include "tests/fake_cuda/state.hpp"

using namespace adjit::cuda;   // NOLINT(google-build-using-namespace)
using namespace adjit::tests;  // NOLINT(google-build-using-namespace)

namespace {

// Of a block, at most.
int shared_bytes_of_card() {
  return attribute_of_devices(attribute::kBlockSharedBytes).value_or(0);
}

}  // namespace

namespace adjit::tests {

int refusal_of(const FakeLaunch& launch) {
  if (launch.function == nullptr) return kInvalidValue;
  const int shared_bytes = std::min(launch.function->shared_bytes, shared_bytes_of_card());
  const bool fits = launch.blocks > 0 && launch.threads > 0 && launch.threads <= 1024 &&
                    launch.shared_bytes <= static_cast<unsigned>(shared_bytes);
  return fits ? 0 : kInvalidValue;
}

Ran run(const FakeLaunch& launch, void** parameters) {
  State& s = state();
  ++s.moment;
  Kernels* const kernels = launch.function->module->kernels.get();
  if (kernels == nullptr) return {};
  return kernels->run(launch.function->name, parameters, static_cast<int>(launch.blocks),
                      static_cast<int>(launch.threads), static_cast<int>(launch.shared_bytes),
                      static_cast<unsigned long long>(s.moment), s.memory);
}

void tell(const std::string& faults) {
  if (!faults.empty()) state().lost = kIllegalAddress;
  state().faults += faults;
}

}  // namespace adjit::tests

extern "C" {

int cuModuleLoadDataEx(ModuleHandle* module, const void* image, unsigned count, int* options,
                       void** values) {
  FAKE_CALL(cuModuleLoadDataEx);
  auto made = std::make_unique<FakeModule>();
  try {
    made->kernels = kernels_of(image);
  } catch (const std::exception& error) {
    log_error(std::string("fake: ") + error.what(), count, options, values);
    return kInvalidImage;
  }
  if (made->kernels) {
    made->functions = made->kernels->names();
  } else {
    const std::string text = static_cast<const char*>(image);
    if (!text.starts_with(kHeader)) {
      log_error("fake: no image", count, options, values);
      return kInvalidImage;
    }
    std::istringstream lines(text.substr(std::strlen(kHeader)));
    for (std::string line; std::getline(lines, line);) made->functions.insert(line);
  }
  *module = reinterpret_cast<ModuleHandle>(made.get());
  state().modules[*module] = std::move(made);
  return 0;
}

int cuModuleUnload(ModuleHandle module) {
  FAKE_CALL(cuModuleUnload);
  return state().modules.erase(module) == 0 ? kInvalidHandle : 0;
}

int cuModuleGetFunction(FunctionHandle* function, ModuleHandle module, const char* name) {
  FAKE_CALL(cuModuleGetFunction);
  const auto found = state().modules.find(module);
  if (found == state().modules.end()) return kInvalidHandle;
  if (!found->second->functions.contains(name)) return kNotFound;
  state().functions.push_back(std::make_unique<FakeFunction>(found->second.get(), name));
  *function = reinterpret_cast<FunctionHandle>(state().functions.back().get());
  return 0;
}

int cuFuncSetAttribute(FunctionHandle function, int attribute, int value) {
  FAKE_CALL(cuFuncSetAttribute);
  if (function == nullptr) return kInvalidHandle;
  if (attribute != kDynamicSharedBytes || value < 0 || value > shared_bytes_of_card())
    return kInvalidValue;
  reinterpret_cast<FakeFunction*>(function)->shared_bytes = value;
  return 0;
}

int cuLaunchKernel(FunctionHandle function, unsigned blocks, unsigned blocks_y, unsigned blocks_z,
                   unsigned threads, unsigned threads_y, unsigned threads_z, unsigned shared_bytes,
                   StreamHandle stream, void** parameters, void** extra) {
  FAKE_CALL(cuLaunchKernel);
  if (!exists(stream)) return kInvalidHandle;
  if (blocks_y != 1 || blocks_z != 1 || threads_y != 1 || threads_z != 1 || extra != nullptr)
    return kInvalidValue;
  const FakeLaunch launch{reinterpret_cast<const FakeFunction*>(function), blocks, threads,
                          shared_bytes};
  if (const int refused = refusal_of(launch); refused != 0) return refused;
  tell(run(launch, parameters).faults);
  return 0;
}

int cuLinkCreate_v2(unsigned count, int* options, void** values, LinkHandle* link) {
  FAKE_CALL(cuLinkCreate_v2);
  auto image = std::make_unique<std::string>(kHeader);
  *link = reinterpret_cast<LinkHandle>(image.get());
  state().links[*link] = {
      std::move(image), [=](const std::string& text) { log_error(text, count, options, values); }};
  return 0;
}

// Of PTX it understands the names of entries: ".visible .entry name(".
int cuLinkAddData_v2(LinkHandle link, int kind, void* data, size_t size, const char*, unsigned,
                     int*, void**) {
  FAKE_CALL(cuLinkAddData_v2);
  const auto found = state().links.find(link);
  if (found == state().links.end()) return kInvalidHandle;
  const std::string text(static_cast<const char*>(data), size);
  const std::string entry = ".entry ";
  size_t at = text.find(entry);
  if (kind != 1 || at == std::string::npos) {
    found->second.log("fake: no entry");
    return kInvalidPtx;
  }
  for (; at != std::string::npos; at = text.find(entry, at + 1)) {
    const size_t begin = at + entry.size();
    *found->second.image += text.substr(begin, text.find_first_of("(\n ", begin) - begin) + "\n";
  }
  return 0;
}

int cuLinkComplete(LinkHandle link, void** image, size_t* size) {
  FAKE_CALL(cuLinkComplete);
  const auto found = state().links.find(link);
  if (found == state().links.end()) return kInvalidHandle;
  *image = found->second.image->data();
  *size = found->second.image->size() + 1;
  return 0;
}

int cuLinkDestroy(LinkHandle link) {
  FAKE_CALL(cuLinkDestroy);
  return state().links.erase(link) == 0 ? kInvalidHandle : 0;
}

}  // extern "C"
