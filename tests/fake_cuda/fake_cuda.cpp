// tests/fake_cuda/fake_cuda.cpp -- a CUDA driver without a GPU: it counts calls, fails where it is
// told to, and knows what was not given back.
//
// Images are text: "adjit fake cubin" and then the name of each function on a line.
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "jit/cuda/driver.hpp"

namespace {

using namespace adjit::cuda;  // NOLINT(google-build-using-namespace)

struct Failure {
  int after = 0;  // calls
  int result = 0;
};

struct Link {
  std::unique_ptr<std::string> image;
  std::function<void(const std::string&)> log;  // while its options live, as the driver says
};

struct State {
  std::mutex mutex;
  bool initialised = false;
  int devices = 1, capability = 90;
  std::map<std::string, int> calls;
  std::map<std::string, Failure> failures;
  std::map<int, int> retained;  // by device
  // By their handles, which are the addresses of the values.
  std::map<void*, std::unique_ptr<std::set<std::string>>> modules;
  std::map<void*, Link> links;
  std::vector<std::unique_ptr<std::string>> names;  // of functions, whose addresses are handles
};

State& state() {
  static State the;
  return the;
}

thread_local void* current = nullptr;
char contexts[16];  // their addresses are handles

constexpr int kInvalidValue = 1, kNotInitialised = 3, kNoDevice = 100, kInvalidDevice = 101,
              kInvalidImage = 200, kInvalidContext = 201, kInvalidPtx = 218, kInvalidHandle = 400,
              kNotFound = 500;
constexpr const char* kHeader = "adjit fake cubin\n";

// What a call answers before it does anything: 0, or what it was told to.
int begin(const char* symbol, bool needs_init = true) {
  State& s = state();
  const int count = ++s.calls[symbol];
  if (const auto told = s.failures.find(symbol);
      told != s.failures.end() && told->second.after == count)
    return told->second.result;
  return needs_init && !s.initialised ? kNotInitialised : 0;
}

// Writes into the error log that the options name, if they do: CU_JIT_ERROR_LOG_BUFFER and its
// size.
void log_error(const std::string& text, unsigned count, const int* options, void** values) {
  char* log = nullptr;
  size_t room = 0;
  for (unsigned k = 0; k < count; ++k) {
    if (options[k] == 5) log = static_cast<char*>(values[k]);
    if (options[k] == 6) room = reinterpret_cast<size_t>(values[k]);
  }
  if (log != nullptr && room > text.size()) log[text.copy(log, room - 1)] = 0;
}

bool exists(int device) { return device >= 0 && device < state().devices; }

}  // namespace

// The first line of each function: it holds the lock, is counted, and fails where it is told to.
#define FAKE_CALL(symbol, ...)                           \
  const std::lock_guard<std::mutex> lock(state().mutex); \
  if (const int told = begin(#symbol __VA_OPT__(, ) __VA_ARGS__); told != 0) return told

extern "C" {

int cuInit(unsigned) {
  FAKE_CALL(cuInit, false);
  if (state().devices == 0) return kNoDevice;
  state().initialised = true;
  return 0;
}

int cuGetErrorName(int result, const char** name) {
  FAKE_CALL(cuGetErrorName, false);
  if (result == 2) *name = "CUDA_ERROR_OUT_OF_MEMORY";
  if (result == 700) *name = "CUDA_ERROR_ILLEGAL_ADDRESS";
  return result == 2 || result == 700 ? 0 : kInvalidValue;
}

int cuGetErrorString(int result, const char** text) {
  FAKE_CALL(cuGetErrorString, false);
  if (result == 2) *text = "out of memory";
  if (result == 700) *text = "an illegal memory access was encountered";
  return result == 2 || result == 700 ? 0 : kInvalidValue;
}

int cuDeviceGetCount(int* count) {
  FAKE_CALL(cuDeviceGetCount);
  *count = state().devices;
  return 0;
}

int cuDeviceGet(int* device, int ordinal) {
  FAKE_CALL(cuDeviceGet);
  if (!exists(ordinal)) return kInvalidDevice;
  *device = ordinal;
  return 0;
}

int cuDeviceGetName(char* name, int length, int device) {
  FAKE_CALL(cuDeviceGetName);
  if (!exists(device)) return kInvalidDevice;
  std::strncpy(name, "Fake GPU", static_cast<size_t>(length));
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  FAKE_CALL(cuDeviceGetAttribute);
  if (!exists(device)) return kInvalidDevice;
  // Of an H100, by CUdevice_attribute.
  const std::map<int, int> known = {{1, 1024},
                                    {13, 1980000},
                                    {16, 132},
                                    {36, 2619000},
                                    {37, 5120},
                                    {38, 52428800},
                                    {39, 2048},
                                    {75, state().capability / 10},
                                    {76, state().capability % 10},
                                    {81, 233472},
                                    {82, 65536},
                                    {95, 1},
                                    {97, 232448},
                                    {115, 1}};
  const auto found = known.find(attribute);
  if (found == known.end()) return kInvalidValue;
  *value = found->second;
  return 0;
}

int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  FAKE_CALL(cuDeviceTotalMem_v2);
  if (!exists(device)) return kInvalidDevice;
  *bytes = size_t{80} << 30;
  return 0;
}

int cuDevicePrimaryCtxRetain(ContextHandle* context, int device) {
  FAKE_CALL(cuDevicePrimaryCtxRetain);
  if (!exists(device)) return kInvalidDevice;
  ++state().retained[device];
  *context = reinterpret_cast<ContextHandle>(&contexts[device]);
  return 0;
}

int cuCtxGetCurrent(ContextHandle* context) {
  FAKE_CALL(cuCtxGetCurrent);
  *context = static_cast<ContextHandle>(current);
  return 0;
}

int cuCtxSetCurrent(ContextHandle context) {
  FAKE_CALL(cuCtxSetCurrent);
  current = context;
  return 0;
}

int cuModuleLoadDataEx(ModuleHandle* module, const void* image, unsigned count, int* options,
                       void** values) {
  FAKE_CALL(cuModuleLoadDataEx);
  if (current == nullptr) return kInvalidContext;
  const std::string text = static_cast<const char*>(image);
  if (!text.starts_with(kHeader)) {
    log_error("fake: no image", count, options, values);
    return kInvalidImage;
  }
  auto functions = std::make_unique<std::set<std::string>>();
  std::istringstream lines(text.substr(std::strlen(kHeader)));
  for (std::string line; std::getline(lines, line);) functions->insert(line);
  *module = reinterpret_cast<ModuleHandle>(functions.get());
  state().modules[*module] = std::move(functions);
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
  if (!found->second->contains(name)) return kNotFound;
  state().names.push_back(std::make_unique<std::string>(name));
  *function = reinterpret_cast<FunctionHandle>(state().names.back().get());
  return 0;
}

int cuFuncSetAttribute(FunctionHandle function, int attribute, int value) {
  FAKE_CALL(cuFuncSetAttribute);
  if (function == nullptr) return kInvalidHandle;
  return attribute == 8 && value <= 232448 ? 0 : kInvalidValue;  // dynamic shared bytes
}

int cuLinkCreate_v2(unsigned count, int* options, void** values, LinkHandle* link) {
  FAKE_CALL(cuLinkCreate_v2);
  if (current == nullptr) return kInvalidContext;
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

// ---- For tests (fake_cuda.hpp).

void fake_cuda_reset() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  State& s = state();
  s.devices = 1;
  s.capability = 90;
  s.calls.clear();
  s.failures.clear();
  current = nullptr;
}

void fake_cuda_devices(int count, int capability) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().devices = count;
  state().capability = capability;
}

void fake_cuda_fail(const char* symbol, int result, int nth) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().failures[symbol] = {state().calls[symbol] + nth, result};
}

int fake_cuda_calls(const char* symbol) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return state().calls[symbol];
}

int fake_cuda_live() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  size_t live = state().modules.size() + state().links.size();
  for (const auto& [device, times] : state().retained) live += static_cast<size_t>(times);
  return static_cast<int>(live);
}

void* fake_cuda_current() { return current; }
void fake_cuda_set_current(void* context) { current = context; }

}  // extern "C"
