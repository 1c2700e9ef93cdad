// jit/cpu/stack.cpp -- how much stack a thread has left.
#include "jit/cpu/stack.hpp"

#include <pthread.h>

#include <cerrno>
#include <cstdint>
#include <exception>
#include <string>

#include "runtime/expr/error.hpp"

namespace adjit::cpu {
namespace {

struct StackBounds {
  uintptr_t low = 1, high = 0;  // none
  bool asked = false;           // and answered, if only that there are none
};

StackBounds bounds_of_this_thread() {
  pthread_attr_t attributes;
  if (const int failed = pthread_getattr_np(pthread_self(), &attributes); failed != 0)
    return {.asked = failed != ENOMEM};
  void* low = nullptr;
  size_t size = 0, guard = 0;
  const bool known = pthread_attr_getstack(&attributes, &low, &size) == 0 &&
                     pthread_attr_getguardsize(&attributes, &guard) == 0;
  pthread_attr_destroy(&attributes);
  if (!known) return {.asked = true};
  const auto at = reinterpret_cast<uintptr_t>(low);
  return {at + guard, at + size, true};
}

}  // namespace

size_t stack_left() {
  thread_local StackBounds bounds;
  if (!bounds.asked) bounds = bounds_of_this_thread();
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return here > bounds.low && here <= bounds.high ? here - bounds.low : SIZE_MAX;
}

void with_stack(size_t bytes, void (*run)(void*), void* context) {
  if (stack_left() >= bytes) return run(context);
  struct Call {
    void (*run)(void*);
    void* context;
    std::exception_ptr failure;
  } call{run, context, nullptr};
  constexpr size_t kBesides = 1 << 20;  // what is called before and after
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, bytes + kBesides);
  pthread_t thread;
  const int refused = pthread_create(
      &thread, &attributes,
      [](void* argument) -> void* {
        auto& c = *static_cast<Call*>(argument);
        try {
          c.run(c.context);
        } catch (...) {
          c.failure = std::current_exception();
        }
        return nullptr;
      },
      &call);
  pthread_attr_destroy(&attributes);
  if (refused != 0)
    throw Error(ErrorCode::Memory, "the calling thread's stack has less than " +
                                       std::to_string(bytes) +
                                       " bytes left, and a thread with more cannot be started");
  pthread_join(thread, nullptr);
  if (call.failure) std::rethrow_exception(call.failure);
}

}  // namespace adjit::cpu
