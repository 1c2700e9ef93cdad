// runtime/process/cancellation.cpp -- the call of each thread.
#include "runtime/process/cancellation.hpp"

namespace adjit::process {
namespace {

thread_local Cancellable* current_call = nullptr;
thread_local CancelHook hook_of_thread;

}  // namespace

void set_thread_hook(CancelHook hook) noexcept { hook_of_thread = hook; }
CancelHook thread_hook() noexcept { return hook_of_thread; }

Cancellable* Cancellable::current() { return current_call; }

Cancellable::Cancellable(CancelHook hook)
    : hook_(hook), owner_(pthread_self()), next_(__rdtsc() + kInterval), outer_(current_call) {
  current_call = hook_.cancelled ? this : nullptr;
}

Cancellable::~Cancellable() { current_call = outer_; }

void Cancellable::ask() {
  if (hook_.cancelled(hook_.user) != 0) {
    cancelled_.store(true, std::memory_order_relaxed);
    throw Cancelled();
  }
  next_ = __rdtsc() + kInterval;
}

Cancellable::Adopted::Adopted(Cancellable* call) : outer_(current_call) { current_call = call; }
Cancellable::Adopted::~Adopted() { current_call = outer_; }

}  // namespace adjit::process
