// jit/codegen/first_use.hpp -- what LLVM does once in a process, where memory may run out.
#pragma once

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>

#include "runtime/process/fork.hpp"

namespace adjit::codegen {

/// LLVM registers targets, options and passes when they are first used, under locks that it would
/// keep for ever if an exception passed: it is built without cleanups. So there must be memory for
/// all of it before any of it begins.
class FirstUse {
 public:
  /// Runs `work` unless it has run to its end before. Throws std::bad_alloc, with nothing begun,
  /// where `bytes` cannot be had at once. Any thread; `work` may not wait for other threads.
  template <class Work>
  void operator()(size_t bytes, Work&& work) {
    if (done_.load(std::memory_order_acquire)) return;
    const BriefLock lock(mutex_);
    if (done_.load(std::memory_order_relaxed)) return;
    void* volatile probe = std::malloc(bytes);  // volatile, or it may be left out
    if (!probe) throw std::bad_alloc();
    std::free(probe);
    work();
    done_.store(true, std::memory_order_release);
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> done_ = false;
};

}  // namespace adjit::codegen
