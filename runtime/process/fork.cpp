// runtime/process/fork.cpp -- one pthread_atfork for all delays and handlers.
#include "runtime/process/fork.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace adjit::process {

/// Every delay and handler of the process: fork() knows no contexts, so neither can this. It is
/// never destroyed, because a fork may come after the destructors of static objects; and it is made
/// when the library is loaded, before any thread can be in the middle of making it.
struct ForkRegistry {
  static constexpr uint32_t kForking = 1u << 31;

  std::mutex forking;                // held from before a fork to after it
  std::atomic<uint32_t> delays = 0;  // threads with a ForkDelay; with kForking none gets one
  std::mutex mutex;                  // of the handlers
  std::vector<ForkHandler*> handlers;

  static thread_local uint32_t nested;  // delays of this thread

  static ForkRegistry& get() { return *instance; }
  ForkRegistry() {
    if (pthread_atfork(before, in_parent, in_child) != 0) throw std::bad_alloc();
  }

  void enter() noexcept {
    if (nested++ > 0) return;
    uint32_t now = delays.load(std::memory_order_relaxed);
    for (;;) {
      if (now & kForking) {
        delays.wait(now);
        now = delays.load(std::memory_order_relaxed);
      } else if (delays.compare_exchange_weak(now, now + 1, std::memory_order_acquire)) {
        return;
      }
    }
  }
  void leave() noexcept {
    if (--nested > 0) return;
    if (delays.fetch_sub(1, std::memory_order_release) & kForking) delays.notify_all();
  }

  // Keeps new delays out and waits for those of other threads.
  void close() {
    const uint32_t own = nested > 0 ? 1 : 0;
    uint32_t now = delays.fetch_or(kForking, std::memory_order_acquire) | kForking;
    while (now != (kForking | own)) {
      delays.wait(now);
      now = delays.load(std::memory_order_acquire);
    }
  }
  void open() {
    delays.store(nested > 0 ? 1 : 0, std::memory_order_release);
    delays.notify_all();
  }

  // The registry stays locked from `before` to the end of the other two: handlers neither come nor
  // go.
  static void before() {
    get().forking.lock();
    get().close();
    get().mutex.lock();
    call(&ForkHandler::before_);
  }
  static void in_parent() {
    call(&ForkHandler::in_parent_);
    after();
  }
  static void in_child() {
    call(&ForkHandler::in_child_);
    after();
  }
  static void after() {
    get().mutex.unlock();
    get().open();
    get().forking.unlock();
  }
  static void call(std::function<void()> ForkHandler::* callback) {
    for (ForkHandler* handler : get().handlers)
      if (handler->*callback) (handler->*callback)();
  }

 private:
  static ForkRegistry* const instance;
};

thread_local uint32_t ForkRegistry::nested = 0;
ForkRegistry* const ForkRegistry::instance = new ForkRegistry();

ForkDelay::ForkDelay() noexcept { ForkRegistry::get().enter(); }
ForkDelay::~ForkDelay() { ForkRegistry::get().leave(); }

ForkHandler::ForkHandler(std::function<void()> before, std::function<void()> in_parent,
                         std::function<void()> in_child)
    : before_(std::move(before)), in_parent_(std::move(in_parent)), in_child_(std::move(in_child)) {
  ForkRegistry& registry = ForkRegistry::get();
  const std::lock_guard lock(registry.mutex);
  registry.handlers.push_back(this);
}

ForkHandler::~ForkHandler() {
  ForkRegistry& registry = ForkRegistry::get();
  const std::lock_guard lock(registry.mutex);
  std::erase(registry.handlers, this);
}

}  // namespace adjit::process
