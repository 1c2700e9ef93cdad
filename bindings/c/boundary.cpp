// bindings/c/boundary.cpp -- statuses and this thread's last message.
#include "bindings/c/boundary.hpp"

#include <new>

#include "runtime/process/per_thread.hpp"

namespace adjit::c {
namespace {

PerThread<std::string> last_message;
thread_local const char* instead = "";  // where there is none, or no memory for it

void keep_message(const char* text) noexcept {
  try {
    last_message.get() = text;
    instead = nullptr;
  } catch (...) {
    instead = "out of memory";
  }
}

}  // namespace

adjit_status current_exception() noexcept {
  try {
    throw;
  } catch (const Error& e) {
    keep_message(e.what());
    return static_cast<adjit_status>(e.code());
  } catch (const Cancelled& e) {
    keep_message(e.what());
    return ADJIT_CANCELLED;
  } catch (const std::bad_alloc&) {
    keep_message("out of memory");
    return ADJIT_MEMORY;
  } catch (const std::exception& e) {
    keep_message(e.what());
    return ADJIT_INTERNAL;
  } catch (...) {
    keep_message("an unknown exception");
    return ADJIT_INTERNAL;
  }
}

}  // namespace adjit::c

extern "C" {

const char* adjit_version(void) { return ADJIT_VERSION; }
uint32_t adjit_abi_version(void) { return ADJIT_ABI_VERSION; }
const char* adjit_last_error_message(void) {
  using namespace adjit::c;
  if (instead) return instead;
  const std::string* const kept = last_message.find();
  return kept ? kept->c_str() : "";  // none in a thread that is ending
}

const char* adjit_status_name(adjit_status status) {
  static constexpr const char* kNames[] = {
      "ok",       "invalid", "shape",  "dtype", "bounds", "not differentiable", "parse",
      "schedule", "compile", "device", "cache", "memory", "internal",           "cancelled"};
  const size_t k = static_cast<size_t>(status);
  return k < sizeof kNames / sizeof *kNames ? kNames[k] : "unknown";
}

}  // extern "C"
