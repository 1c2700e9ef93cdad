// bindings/c/boundary.hpp -- where exceptions become statuses.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "bindings/c/adjit.h"
#include "jit/cpu/float_mode.hpp"
#include "runtime/expr/error.hpp"
#include "runtime/process/cancellation.hpp"

namespace adjit::c {

/// Keeps the message for this thread and gives the status of the exception in flight.
adjit_status current_exception() noexcept;

/// Runs `work`; nothing leaves but a status. Out-parameters are written last, by `work` itself.
template <class Work>
adjit_status status_of(Work&& work) noexcept {
  try {
    work();
    return ADJIT_OK;
  } catch (...) {
    return current_exception();
  }
}

/// The same for all but warm calls (which set their kernels' mode themselves): numbers that are
/// known when tracing or compiling do not depend on the caller's float mode.
template <class Work>
adjit_status guarded(Work&& work) noexcept {
  const FloatModeScope mode(FloatMode::KeepSubnormals);
  return status_of(work);
}

/// The same for calls that may take long: `hook` is asked whether to go on, or the thread's own.
template <class Work>
adjit_status cancellable(const CancelHook& hook, Work&& work) noexcept {
  return guarded([&] {
    const Cancellable call(hook.cancelled ? hook : thread_hook());
    work();
  });
}

/// ErrorCode::Invalid naming the argument when it is null.
template <class T>
T& required(T* argument, const char* name) {
  if (argument == nullptr)
    throw Error(ErrorCode::Invalid, std::string("the argument '") + name + "' is NULL");
  return *argument;
}

/// An array argument; ErrorCode::Invalid naming it for a negative count, and for NULL where there
/// should be elements.
template <class T>
std::span<T> elements(T* first, int32_t count, const char* name) {
  if (count < 0)
    throw Error(ErrorCode::Invalid, std::string("the number of '") + name + "' is " +
                                        std::to_string(count) + "; it must not be negative");
  if (count > 0) required(first, name);
  return {first, static_cast<size_t>(count)};
}

/// An option struct: what an older caller's shorter one lacks is zero; NULL is all zero.
/// ErrorCode::Invalid when struct_size is not set.
template <class Options>
Options options_from(const Options* given) {
  Options options;
  std::memset(&options, 0, sizeof options);
  if (given == nullptr) return options;
  if (given->struct_size < sizeof given->struct_size)
    throw Error(ErrorCode::Invalid, "struct_size of the options is not set");
  std::memcpy(&options, given, std::min<size_t>(given->struct_size, sizeof options));
  return options;
}

}  // namespace adjit::c
