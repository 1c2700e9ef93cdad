// autosched/analysis/task_footprint.hpp -- what the tasks of a kernel write and read.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "autosched/program/program.hpp"
#include "autosched/program/required_region.hpp"

namespace adjit::sched {

/// What kernels write and read in one iteration of their first loops, which count as tasks.
class TaskRegions {
 public:
  explicit TaskRegions(const Program& program);

  /// Whether each task of kernel k, when the first `depth` loops make the tasks, reads of what the
  /// kernels [first, k) write no more than their tasks of the same number write; `apart` (per
  /// kernel, or empty) have been run before.
  bool follows(size_t first, size_t k, size_t depth, const std::vector<bool>& apart = {}) const;

  /// Whether each task of kernel `reader` reads of a tensor no more than the task of the same
  /// number of the kernel that defines `written`, of the same shape, writes of that.
  bool covered(size_t reader, TensorId tensor, TensorId written, size_t depth) const;

  /// Elements of a result of kernel k that one task writes, with the gaps behind its rows, if the
  /// tasks' parts follow each other; else 0.
  int64_t slice(size_t k, TensorId id) const;

  /// From the first of the kernels [first, end) that one of them reads from, to behind the last
  /// that reads from one: the others pass nothing on, and would only keep buffers alive.
  std::pair<size_t, size_t> connected(size_t first, size_t end) const;

  /// Of the kernel that has a stage.
  size_t kernel_of(size_t stage) const { return kernel_of_[stage]; }

  /// Of the kernel that defines a tensor; SIZE_MAX: none.
  size_t writer_of(TensorId id) const {
    return producers_[id.value] == SIZE_MAX ? SIZE_MAX : kernel_of_[producers_[id.value]];
  }

  /// Whether the first loops of two kernels have the same trips, whatever axes they are over, and
  /// those of `a` the same steps or multiples: a task of rows, and of the part that is their sum.
  bool same_loops(size_t a, size_t b, size_t depth) const;

 private:
  bool covers(size_t writer, size_t producer, size_t reader, const Region& read,
              size_t depth) const;
  Region written_region(size_t kernel, size_t producer, size_t depth) const;

  const Program& program_;
  std::vector<size_t> producers_;  // per tensor
  std::vector<size_t> kernel_of_;  // per stage
  std::vector<size_t> in_place_;   // stages, ascending
};

}  // namespace adjit::sched
