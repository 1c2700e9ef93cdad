// autosched/task_chains.cpp -- regions of tasks compared.
#include "autosched/task_chains.hpp"

#include <algorithm>
#include <utility>

#include "autosched/nests.hpp"
#include "autosched/step_invariants.hpp"
#include "autosched/task_regions.hpp"

namespace adjit {
namespace {

// Scans, scatters and running reductions stand alone.
bool computes(const Program& program, const Kernel& kernel) {
  bool all = !kernel.steps;
  for_each_nest(kernel.root, [&](const Nest& nest) {
    const Stage& stage = program.graph.stages[nest.stage];
    all &= stage.kind == StageKind::Compute && !stage.running;
  });
  return all;
}

class ChainPlanner {
 public:
  ChainPlanner(const Program& program, const Target& target, const ReductionPlans& plans,
               TaskLoops settled)
      : program_(program),
        target_(target),
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
          found[program_.graph.stages[program_.kernels[k].root.stage].results.front().value] =
              depth;
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
    if (!computes(program_, kernel)) return 0;
    const Nest& root = kernel.root;
    const Stage& stage = program_.graph.stages[root.stage];
    if (settled_.contains(stage.results.front().value)) return 0;
    const auto planned = plans_.find(stage.results.front().value);
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
    // Small tasks cost more in calls than they save, whatever the cache holds.
    constexpr double kSmallTask = 64 << 10;
    const auto cache = static_cast<double>(target_.l2_bytes);
    const auto last = static_cast<double>(target_.l3_bytes);
    const double near =
        bytes > last ? std::max(1.5 * cache, last / (8 * target_.cores)) : 1.5 * cache;
    return tasks >= 4 * target_.cores && bytes >= cache * std::max(target_.cores, 2) &&
           bytes / tasks >= std::min(cache / 16, kSmallTask) && bytes / tasks <= near;
  }

  const Program& program_;
  const Target& target_;
  const ReductionPlans& plans_;
  const TaskLoops settled_;
  TaskRegions regions_;
  std::vector<size_t> depths_;  // per kernel
};

// Which parts of a chain's tensors stay within a task.
void add_slices(const Program& program, const TaskRegions& regions,
                const std::vector<size_t>& kernels, std::vector<int64_t>& slices) {
  for (size_t k : kernels)
    for_each_nest(program.kernels[k].root, [&](const Nest& nest) {
      for (TensorId id : program.graph.stages[nest.stage].results) {
        if (program.scopes[id.value] != Scope::Workspace) continue;
        const bool inside = std::ranges::all_of(program.readers[id.value], [&](size_t reader) {
          return std::ranges::binary_search(kernels, regions.kernel_of(reader));
        });
        if (inside) slices[id.value] = regions.slice(k, id);
      }
    });
}

// Whether a kernel's tasks could be part of a chain.
bool has_tasks(const Program& program, const Kernel& kernel) {
  // What is attached outside the last parallel loop is made again by every task around it.
  const size_t depth = parallel_depth(kernel.root);
  return task_count(kernel.root) > 1 && computes(program, kernel) &&
         std::ranges::none_of(kernel.root.attached,
                              [&](const Nest::Attached& a) { return a.depth < depth; });
}

// The kernels of a scan's steps that run in every step, if the whole scan can go task by task: all
// are a chain, and a task reads of what the step before left only what its own kernels wrote.
std::vector<size_t> kernels_of_whole_steps(const Program& program, const Scan& scan,
                                           const TaskRegions& regions,
                                           const std::vector<bool>& before) {
  if (scan.conditional) return {};
  std::vector<size_t> kernels;
  for (size_t k = 0; k < program.kernels.size(); ++k)
    if (!before[k]) kernels.push_back(k);
  if (kernels.empty()) return {};
  const size_t depth = parallel_depth(program.kernels[kernels.front()].root);
  const Graph& graph = program.graph;
  for (size_t k : kernels) {
    const Kernel& kernel = program.kernels[k];
    if (!has_tasks(program, kernel) || parallel_depth(kernel.root) != depth ||
        tasks_in_turn(program, kernel.root) > 1 ||
        !regions.follows(kernels.front(), k, depth, before))
      return {};
    for (size_t c = 0; c < scan.carries; ++c)
      if (!regions.covered(k, graph.inputs[c], graph.outputs[c], depth)) return {};
  }
  return kernels;
}

}  // namespace

TaskChains task_chains(const Program& program, const Scan* scan) {
  const size_t count = program.kernels.size();
  TaskChains chains;
  chains.before = scan ? invariant_kernels(program, *scan) : std::vector<bool>(count, false);
  chains.continues.assign(count, false);
  chains.slices.assign(program.graph.tensors.size(), 0);
  const TaskRegions regions(program);
  if (scan) {
    const std::vector<size_t> kernels =
        kernels_of_whole_steps(program, *scan, regions, chains.before);
    if (!kernels.empty()) {
      chains.tasks = task_count(program.kernels[kernels.front()].root);
      for (size_t k : kernels) chains.continues[k] = k != kernels.front();
      add_slices(program, regions, kernels, chains.slices);
      return chains;
    }
  }
  std::vector<size_t> open;  // the chain so far
  const auto close = [&] {
    if (open.empty()) return;
    const auto [begin, end] = regions.connected(open.front(), open.back() + 1);
    std::vector<size_t> linked;
    for (size_t k : open)
      if (k >= begin && k < end) linked.push_back(k);
    for (size_t k : linked) chains.continues[k] = k != linked.front();
    if (linked.size() > 1) add_slices(program, regions, linked, chains.slices);
    open.clear();
  };
  for (size_t k = 0; k < count; ++k) {
    if (chains.before[k]) continue;
    const Kernel& kernel = program.kernels[k];
    const size_t depth = parallel_depth(kernel.root);
    if (!open.empty() && (!has_tasks(program, kernel) ||
                          parallel_depth(program.kernels[open.front()].root) != depth ||
                          !regions.follows(open.front(), k, depth, chains.before)))
      close();
    if (has_tasks(program, kernel)) open.push_back(k);
  }
  close();
  return chains;
}

TaskLoops plan_chains(const Program& program, const Target& target, const ReductionPlans& plans,
                      TaskLoops settled) {
  return ChainPlanner(program, target, plans, std::move(settled))();
}

}  // namespace adjit
