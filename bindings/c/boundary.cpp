// bindings/c/boundary.cpp -- statuses and this thread's last message.
#include "bindings/c/boundary.hpp"

#include <new>

namespace adjit::c {
namespace {

// Never throws while it keeps a message: a string that cannot be allocated leaves a fixed one.
class LastMessage {
 public:
  void set(const char* text) noexcept {
    try {
      text_ = text;
      fixed_ = nullptr;
    } catch (...) {
      fixed_ = "out of memory";
    }
  }
  const char* get() const noexcept { return fixed_ ? fixed_ : text_.c_str(); }

 private:
  std::string text_;
  const char* fixed_ = nullptr;
};

thread_local LastMessage last_message;

}  // namespace

adjit_status current_exception() noexcept {
  try {
    throw;
  } catch (const Error& e) {
    last_message.set(e.what());
    return static_cast<adjit_status>(e.code());
  } catch (const Cancelled& e) {
    last_message.set(e.what());
    return ADJIT_CANCELLED;
  } catch (const std::bad_alloc&) {
    last_message.set("out of memory");
    return ADJIT_MEMORY;
  } catch (const std::exception& e) {
    last_message.set(e.what());
    return ADJIT_INTERNAL;
  } catch (...) {
    last_message.set("an unknown exception");
    return ADJIT_INTERNAL;
  }
}

}  // namespace adjit::c

extern "C" {

const char* adjit_version(void) { return ADJIT_VERSION; }
uint32_t adjit_abi_version(void) { return ADJIT_ABI_VERSION; }
const char* adjit_last_error_message(void) { return adjit::c::last_message.get(); }

const char* adjit_status_name(adjit_status status) {
  static constexpr const char* kNames[] = {
      "ok",       "invalid", "shape",  "dtype", "bounds", "not differentiable", "parse",
      "schedule", "compile", "device", "cache", "memory", "internal",           "cancelled"};
  const size_t k = static_cast<size_t>(status);
  return k < sizeof kNames / sizeof *kNames ? kNames[k] : "unknown";
}

}  // extern "C"
