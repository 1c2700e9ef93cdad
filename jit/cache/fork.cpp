// jit/cache/fork.cpp -- one pthread_atfork for all handlers.
#include "jit/cache/fork.hpp"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace adjit::cache {

/// Every handler of the process: fork() knows no contexts, so neither can this list. It is never
/// destroyed, because a fork may come after the destructors of static objects.
struct ForkRegistry {
  std::mutex mutex;
  std::vector<ForkHandler*> handlers;

  static ForkRegistry& get() {
    static ForkRegistry& registry = *new ForkRegistry();
    return registry;
  }
  ForkRegistry() {
    if (pthread_atfork(before, in_parent, in_child) != 0) throw std::bad_alloc();
  }

  // The registry stays locked from `before` to the end of the other two: handlers neither come nor
  // go.
  static void before() {
    get().mutex.lock();
    call(&ForkHandler::before_);
  }
  static void in_parent() {
    call(&ForkHandler::in_parent_);
    get().mutex.unlock();
  }
  static void in_child() {
    call(&ForkHandler::in_child_);
    get().mutex.unlock();
  }
  static void call(std::function<void()> ForkHandler::* callback) {
    for (ForkHandler* handler : get().handlers)
      if (handler->*callback) (handler->*callback)();
  }
};

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

}  // namespace adjit::cache
