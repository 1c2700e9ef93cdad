// jit/cache/background.hpp -- jobs done one after another on a thread of their own.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>

#include "runtime/process/fork.hpp"

namespace adjit::cache {

/// The thread starts with the first job, takes no signals, and ends with this object. Where no
/// thread can be had, a caller does its job before it returns, and what others queue meanwhile: no
/// two jobs ever run at once, and no lock is held while one runs. After a fork the child has an
/// empty queue and starts its own thread when it has a job: what was queued is the parent's to do.
/// Any thread may call; destruction must not race with calls.
class Background {
 public:
  using Job = std::function<void()>;

  Background();
  ~Background();  // does what is queued, then returns
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// Queues a job that holds on to about `bytes` of memory; an exception that leaves it is dropped.
  /// Throws std::bad_alloc.
  void enqueue(Job job, size_t bytes = 0);

  /// What the jobs that are queued or running hold on to.
  size_t waiting_bytes() const;

  /// Returns when every job queued before the call is done. At once when a job itself calls it.
  void flush();

 private:
  struct State;
  static void do_first(State& state, std::unique_lock<std::mutex>& lock);
  static void work(State& state);
  static bool start(State& state);

  // Replaced as a whole in a forked child, whose copy may be locked and waited for by threads that
  // are gone.
  std::atomic<State*> state_;
  ForkHandler fork_;
};

}  // namespace adjit::cache
