// jit/cache/fork.hpp -- what happens to locks and threads when the process forks.
//
// A forked child has one thread and a copy of every lock as it stood: one that another thread held
// stays locked for ever. Whoever owns a lock or a thread therefore keeps a ForkHandler, which is
// told before and after each fork() in this process.
#pragma once

#include <functional>

namespace adjit::cache {

/// Registers three callbacks for its lifetime; each may be empty, none may throw or fork. `before`
/// runs in the thread that calls fork(), then `in_parent` and `in_child` in that thread of each
/// process. Make it the last member of its owner, so that it ends first. Any thread may construct
/// and destroy. Throws std::bad_alloc.
class ForkHandler {
 public:
  ForkHandler(std::function<void()> before, std::function<void()> in_parent,
              std::function<void()> in_child);
  ~ForkHandler();
  ForkHandler(const ForkHandler&) = delete;
  ForkHandler& operator=(const ForkHandler&) = delete;

 private:
  friend struct ForkRegistry;
  std::function<void()> before_;
  std::function<void()> in_parent_;
  std::function<void()> in_child_;
};

}  // namespace adjit::cache
