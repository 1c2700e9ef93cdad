// autosched/cpu/passes/fuse_tasks.cpp -- which runs of kernels chain, at which depth, and whether
// it pays.
#include "autosched/cpu/passes/fuse_tasks.hpp"

#include <algorithm>
#include <utility>

#include "autosched/analysis/task_chains.hpp"
#include "autosched/analysis/task_footprint.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {
namespace {

class ChainPlanner {
 public:
  ChainPlanner(const Program& program, const CpuMachine& machine, const ReductionPlans& plans,
               TaskLoops settled)
      : program_(program),
        machine_(machine),
        plans_(plans),
        settled_(std::move(settled)),
        regions_(program) {
    for (const Kernel& kernel : program.kernels) depths_.push_back(largest_depth(kernel));
  }

  TaskLoops operator()() const {
    TaskLoops found = settled_;
    for (size_t first = 0; first < program_.kernels.size();) {
      size_t next = first + 1;
      for (size_t depth = depths_[first]; depth > 0 && next == first + 1; --depth) {
        const size_t end = end_of(first, depth);
        if (!pays(first, end, depth)) continue;
        for (size_t k = first; k < end; ++k)
          found[stage_key(program_.graph.stages[program_.kernels[k].root.stage])] = depth;
        next = end;
      }
      first = next;
    }
    return found;
  }

 private:
  static constexpr size_t kLongest = 32;  // kernels: bounds the planner's time

  // Leading loops that could be tasks: over output axes, in no register tile, outside what is
  // attached.
  size_t largest_depth(const Kernel& kernel) const {
    if (!may_chain(program_, kernel)) return 0;
    const Nest& root = kernel.root;
    const Stage& stage = program_.graph.stages[root.stage];
    if (settled_.contains(stage_key(stage))) return 0;
    const auto planned = plans_.find(stage_key(stage));
    const ReductionPlan* plan = planned == plans_.end() ? nullptr : &planned->second;
    if (plan && (plan->reduction_outside || plan->reads_much())) return 0;
    size_t depth = 0;
    while (depth < root.loops.size()) {
      const size_t axis = root.loops[depth].axis;
      if (axis >= stage.domain.output_rank) break;
      if (plan && (plan->tile.vector_axis == axis || plan->tile.factors[axis] > 1)) break;
      ++depth;
    }
    // Something must be left for lanes.
    if (depth == root.loops.size() && depth > 0) --depth;
    for (const Nest::Attached& attached : root.attached) depth = std::min(depth, attached.depth);
    return depth;
  }

  size_t end_of(size_t first, size_t depth) const {
    size_t end = first + 1;
    while (end < program_.kernels.size() && end - first < kLongest && depths_[end] >= depth &&
           regions_.follows(first, end, depth))
      ++end;
    return end;
  }

  bool pays(size_t first, size_t end, size_t depth) const {
    if (end - first < 2) return false;
    double tasks = 1, bytes = 0;
    for (size_t l = 0; l < depth; ++l)
      tasks *= static_cast<double>(program_.kernels[first].root.loops[l].trips);
    std::vector<TensorId> passed;
    for (size_t k = first; k < end; ++k)
      for_each_nest(program_.kernels[k].root, [&](const Nest& nest) {
        for (TensorId id : tensors_read(program_.graph, program_.graph.stages[nest.stage]))
          if (const size_t writer = regions_.writer_of(id); writer >= first && writer < k)
            passed.push_back(id);
      });
    std::ranges::sort(passed);
    passed.erase(std::ranges::unique(passed).begin(), passed.end());
    for (TensorId id : passed) {
      const TensorInfo& info = program_.graph.info(id);
      bytes += static_cast<double>(info.element_count()) * static_cast<double>(size_of(info.dtype));
    }
    const auto cache = static_cast<double>(machine_.l2_bytes);
    const auto last = static_cast<double>(machine_.l3_bytes);
    const double near =
        bytes > last ? std::max(thresholds().task_caches * cache, last / (8 * machine_.cores))
                     : thresholds().task_caches * cache;
    return tasks >= 4 * machine_.cores && bytes >= cache * std::max(machine_.cores, 2) &&
           bytes / tasks >= std::min(cache / 16, thresholds().small_task_bytes) &&
           bytes / tasks <= near;
  }

  const Program& program_;
  const CpuMachine& machine_;
  const ReductionPlans& plans_;
  const TaskLoops settled_;
  TaskRegions regions_;
  std::vector<size_t> depths_;  // per kernel
};

}  // namespace

TaskLoops plan_chains(const Program& program, const CpuMachine& machine,
                      const ReductionPlans& plans, TaskLoops settled) {
  return ChainPlanner(program, machine, plans, std::move(settled))();
}

}  // namespace adjit::sched
