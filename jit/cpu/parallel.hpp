// jit/cpu/parallel.hpp -- threads that run the tasks of a parallel loop.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/process/rooms.hpp"

namespace adjit::cpu {

struct TaskArena;

/// A fixed number of threads (oneTBB's workers in an arena of our own). Which thread runs which
/// tasks never changes a result, because tasks are independent. Thread-safe: several threads may
/// call run() at once and share the workers.
class ThreadPool {
 public:
  /// Runs tasks begin..end-1; called concurrently with other ranges.
  using Tasks = void (*)(void* context, int64_t begin, int64_t end);

  /// `threads` includes the calling thread; 0 means available_threads(). Starts no thread: the
  /// first run does.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  /// Runs tasks 0..task_count-1 in contiguous ranges and returns when all are done. Each thread
  /// starts on a share of its own and then helps those that are slower, in the caller's float mode
  /// (float_mode.hpp). In the calling thread alone
  /// if there is one thread or one task, or if this thread runs a task already. An exception thrown
  /// by a task is rethrown here after the others have ended. In a forked child a pool starts
  /// workers of its own, or runs alone if one was running at the fork.
  void run(int64_t task_count, Tasks tasks, void* context);

  /// In a task: the number of the thread among those of the run that the task belongs to, from 0 up
  /// to workers() - 1. No two threads of a run have the same.
  static int64_t worker();
  int64_t workers() const;

  /// CPUs that this process may use (its affinity mask).
  static int available_threads();

 private:
  int threads_;
  std::unique_ptr<TaskArena> arena_;
};

}  // namespace adjit::cpu
