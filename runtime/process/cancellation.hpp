// runtime/process/cancellation.hpp -- long calls that their caller may end before they are done.
#pragma once

#include <x86intrin.h>

#include <pthread.h>
#include <atomic>
#include <cstdint>
#include <exception>

#include "runtime/process/rooms.hpp"

namespace adjit::process {

/// Asked now and then while a call lasts; anything but 0 ends the call. May run code of any
/// language, so nobody asks it under a lock or a ForkDelay.
struct CancelHook {
  int (*cancelled)(void* user) = nullptr;
  void* user = nullptr;
};

/// What a cancelled call throws. No Error: nobody shall take it for a failure of what was tried and
/// go on with something else.
struct Cancelled : std::exception {
  const char* what() const noexcept override {
    return "the call was cancelled before it was done; what it was to write is undefined";
  }
};

/// This thread's hook for calls that come with none; none at first.
void set_thread_hook(CancelHook hook) noexcept;
CancelHook thread_hook() noexcept;

/// One call that may be cancelled, of the thread that constructs it: from then until it ends,
/// check_cancelled() in this thread asks the hook, first after 2^27 cycles of the processor's clock
/// (30 to 70 ms) and then as often. Without a hook nothing is asked. Other threads that work for
/// the call adopt it: they never ask, and stop when the call has been cancelled.
class Cancellable {
 public:
  explicit Cancellable(CancelHook hook);
  ~Cancellable();
  Cancellable(const Cancellable&) = delete;
  Cancellable& operator=(const Cancellable&) = delete;

  /// Of this thread; nullptr: none that has a hook.
  static Cancellable* current();

  /// Throws Cancelled when the call is to end.
  void check() {
    if (cancelled_.load(std::memory_order_relaxed)) throw Cancelled();
    if (!pthread_equal(owner_, pthread_self())) return;
    if (static_cast<int64_t>(__rdtsc() - next_) >= 0) ask();
  }

  class Adopted;

 private:
  static constexpr uint64_t kInterval = uint64_t{1} << 27;
  void ask();

  CancelHook hook_;
  pthread_t owner_;
  uint64_t next_;  // of the owner only
  std::atomic<bool> cancelled_{false};
  Cancellable* outer_;
};

/// Makes another thread's call (or none) this thread's, while it lives.
class Cancellable::Adopted {
 public:
  explicit Adopted(Cancellable* call);
  ~Adopted();
  Adopted(const Adopted&) = delete;
  Adopted& operator=(const Adopted&) = delete;

 private:
  Cancellable* outer_;
};

/// Between the steps of whatever may take long. Throws Cancelled.
inline void check_cancelled() {
  if (Cancellable* call = Cancellable::current()) call->check();
}

}  // namespace adjit::process
