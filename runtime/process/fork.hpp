// runtime/process/fork.hpp -- what happens to locks and threads when the process forks.
//
// A forked child has one thread and a copy of every lock as it stood: one that another thread held
// stays locked for ever, and what it guarded may be half written. Three things prevent that:
//  - what takes locks that are not ours (LLVM's, those of static initialisation) or holds a lock of
//    ours for a short time does so under a ForkDelay: fork() waits for it;
//  - what owns a lock or a thread for long keeps a ForkHandler, which makes the child's copy anew;
//  - long work (deriving, scheduling, running) holds no lock at all.
#pragma once

#include <functional>
#include <mutex>

#include "runtime/process/rooms.hpp"

namespace adjit::process {

/// While one lives, fork() in other threads waits; while a fork is under way, constructing one
/// waits. So a child never sees the middle of it. Scopes of one thread may nest. Keep it to one
/// kernel's compilation at most, and never call out of the library, wait for another thread's long
/// work or fork within: whoever forks may hold what these wait for. Costs two atomic operations on
/// memory that all threads share.
class ForkDelay {
 public:
  ForkDelay() noexcept;
  ~ForkDelay();
  ForkDelay(const ForkDelay&) = delete;
  ForkDelay& operator=(const ForkDelay&) = delete;
};

/// A lock that is held for a moment only: no child finds it taken, nor what it guards half written.
class BriefLock {
 public:
  explicit BriefLock(std::mutex& mutex) : lock_(mutex) {}

 private:
  ForkDelay delay_;
  std::lock_guard<std::mutex> lock_;
};

/// Registers three callbacks for its lifetime; each may be empty, none may throw or fork. `before`
/// runs in the thread that calls fork(), when no ForkDelay is left in other threads; then
/// `in_parent` and `in_child` in that thread of each process. Make it the last member of its owner,
/// so that it ends first. Any thread may construct and destroy. Throws std::bad_alloc.
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

}  // namespace adjit::process
