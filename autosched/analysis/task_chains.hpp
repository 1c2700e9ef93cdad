// autosched/analysis/task_chains.hpp -- kernels whose tasks follow each other without waiting for
// all.
//
// Two kernels with the same parallel loops, the second of which reads, in its task number t, only
// what task t of the first wrote: one thread runs both tasks while what passes between them is in
// its cache, and threads wait for each other once, at the end. Attention is the model: its eight
// kernels run over batch and head, and a head's weights fit the second-level cache where those of
// all heads do not. Whether kernels chain follows from their loops; plan_chains
// (fuse_tasks.hpp) chooses loops with which they do.
#pragma once

#include <cstdint>
#include <vector>

#include "autosched/program/program.hpp"

namespace adjit::sched {

struct TaskChains {
  /// Per kernel of a scan's steps: whether it runs once, before them (scan_invariants.hpp).
  std::vector<bool> before;
  /// Per kernel, whether it continues the chain of the one before it (not counting `before`): both
  /// have equally many tasks (more than one), and each of its tasks reads, of what the kernels of
  /// the chain before it write, only what their tasks of the same number write. Scans, scatters and
  /// running reductions stand alone. Where one of them has tasks in turn (program.hpp), so has the
  /// chain.
  std::vector<bool> continues;
  /// Per tensor that only the kernels of one chain write and read: elements that one task writes.
  /// Task t's are [t * slice, (t + 1) * slice), as far as the tensor has them, so that a thread
  /// needs room for one slice. 0: any other tensor.
  std::vector<int64_t> slices;
  /// Of a scan whose steps are one chain in which every task reads, of what the step before left,
  /// only what tasks of its own number wrote: the number of tasks, each of which may go through all
  /// steps without waiting for the others. A recurrence over the rows of a batch is the model. 0:
  /// any other program.
  int64_t tasks = 0;
};
/// Linear in the program; `scan`: whose steps it is, or null. Without chains where the program's
/// target runs none.
TaskChains task_chains(const Program& program, const Scan* scan = nullptr);

/// Whether all stages of a kernel only compute. Scans, scatters and running reductions stand alone.
bool may_chain(const Program& program, const Kernel& kernel);

}  // namespace adjit::sched
