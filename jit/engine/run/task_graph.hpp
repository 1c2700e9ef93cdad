// jit/engine/run/task_graph.hpp -- kernels that run as soon as what they wait for is done.
//
// Threads enter once for a whole program instead of once a kernel, and whoever is done with its
// part of one kernel begins with the next that needs nothing more: many small kernels, and those
// that do not need each other (the gradients of a product), leave no thread waiting.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "jit/cpu/parallel.hpp"

namespace adjit::engine {

/// Groups of independent tasks, each after all tasks of the groups that it waits for. Immutable;
/// runs of one graph at once need a Run each. Which thread runs which task never changes a result.
class TaskGraph {
 public:
  struct Group {
    int64_t tasks = 1;          // at least 1
    std::vector<size_t> waits;  // earlier groups
  };
  /// For up to `workers` threads.
  TaskGraph(const std::vector<Group>& groups, int64_t workers);
  ~TaskGraph();

  /// What one run at a time counts; made once, so that runs allocate nothing.
  class Run;
  struct Delete {
    void operator()(Run* run) const;
  };
  std::unique_ptr<Run, Delete> make_run() const;

  /// Runs tasks begin .. end-1 of a group; called concurrently.
  using Work = void (*)(void* context, size_t group, int64_t begin, int64_t end);
  /// Returns when all is done; where a task throws, rethrows it when all have stopped, and some
  /// tasks are not run. Each thread begins each group with a share of its own, the same from group
  /// to group. In the calling thread alone where the pool does so.
  void run(Run& run, ThreadPool& pool, Work work, void* context) const;

 private:
  struct Node {
    int64_t tasks = 1;
    uint32_t waits = 0;        // groups
    std::vector<size_t> next;  // that wait for this one
  };
  void work_off(Run& run, int64_t worker, Work work, void* context) const;

  std::vector<Node> nodes_;
  int64_t workers_;
};

}  // namespace adjit::engine
