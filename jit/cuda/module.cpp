// jit/cuda/module.cpp -- code in a GPU, and PTX made code by the driver.
#include "jit/cuda/module.hpp"

#include <array>
#include <cstdint>
#include <vector>

#include "jit/cuda/driver_numbers.hpp"
#include "jit/cuda/result.hpp"

namespace adjit::cuda {
namespace {

// What the driver writes down while it links or loads.
class ErrorLog {
 public:
  ErrorLog() = default;
  ErrorLog(const ErrorLog&) = delete;  // its values point into it
  ErrorLog& operator=(const ErrorLog&) = delete;
  unsigned count() const { return static_cast<unsigned>(options_.size()); }
  int* options() { return options_.data(); }
  void** values() { return values_.data(); }
  std::string text() const { return text_.data(); }

 private:
  std::vector<char> text_ = std::vector<char>(16 << 10);
  std::array<int, 2> options_{kErrorLog, kErrorLogBytes};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a number is passed as a pointer
  std::array<void*, 2> values_{text_.data(), reinterpret_cast<void*>(uintptr_t{text_.size() - 1})};
};

// As PrimaryContext::require, with the driver's log behind it.
void require_logged(PrimaryContext& context, Result result, const std::string& call,
                    const ErrorLog& log) {
  try {
    context.require(result, call);
  } catch (const Error& error) {
    const std::string text = log.text();
    throw Error(error.code(), error.what() + (text.empty() ? "" : "\n" + text));
  }
}

class Link {
 public:
  Link(PrimaryContext& context, ErrorLog& log) : driver_(context.driver()) {
    context.require(driver_.create_link(log.count(), log.options(), log.values(), &handle),
                    "cuLinkCreate");
  }
  ~Link() { static_cast<void>(driver_.destroy_link(handle)); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  LinkHandle handle = nullptr;

 private:
  const Driver& driver_;
};

}  // namespace

std::string link_ptx(PrimaryContext& context, const std::string& ptx) {
  const CurrentContext current(context);
  const Driver& driver = context.driver();
  ErrorLog log;
  const Link link(context, log);
  std::string text = ptx;  // the driver takes it as if it would change it
  require_logged(context,
                 driver.add_to_link(link.handle, kPtxInput, text.data(), text.size() + 1,
                                    "kernels.ptx", 0, nullptr, nullptr),
                 "cuLinkAddData", log);
  void* image = nullptr;
  size_t size = 0;
  require_logged(context, driver.complete_link(link.handle, &image, &size), "cuLinkComplete", log);
  return {static_cast<const char*>(image), size};
}

LoadedModule::LoadedModule(PrimaryContext& context, const std::string& image) : context_(context) {
  const CurrentContext current(context);
  const RelaxedCapture relaxed(current);  // it may take memory, and wait
  ErrorLog log;
  require_logged(context,
                 context.driver().load_module(&module_, image.c_str(), log.count(), log.options(),
                                              log.values()),
                 "cuModuleLoadDataEx", log);
}

LoadedModule::~LoadedModule() {
  try {
    const CurrentContext current(context_);
    static_cast<void>(context_.driver().unload_module(module_));
  } catch (const Error&) {
    return;  // a lost context's modules are gone
  }
}

FunctionHandle LoadedModule::function(const std::string& name) const {
  const CurrentContext current(context_);
  FunctionHandle found = nullptr;
  const Result result = context_.driver().module_function(&found, module_, name.c_str());
  if (result == result::kNotFound)
    throw Error(ErrorCode::Internal, "internal error: the module has no kernel '" + name + "'");
  context_.require(result, "cuModuleGetFunction of '" + name + "'");
  return found;
}

void allow_shared_memory(PrimaryContext& context, FunctionHandle function, int bytes) {
  const CurrentContext current(context);
  const Result result =
      context.driver().set_function_attribute(function, kDynamicSharedBytes, bytes);
  if (result == result::kInvalidValue)
    throw Error(ErrorCode::Compile, "a kernel wants " + std::to_string(bytes) +
                                        " bytes of shared memory for a block, more than the GPU "
                                        "has; give a schedule that was made for this GPU, or none");
  context.require(result, "cuFuncSetAttribute");
}

}  // namespace adjit::cuda
