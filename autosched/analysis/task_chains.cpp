// autosched/analysis/task_chains.cpp -- regions of tasks compared.
#include "autosched/analysis/task_chains.hpp"

#include <algorithm>

#include "autosched/analysis/scan_invariants.hpp"
#include "autosched/analysis/task_footprint.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {
namespace {

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
  return task_count(kernel.root) > 1 && may_chain(program, kernel) &&
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

bool may_chain(const Program& program, const Kernel& kernel) {
  bool all = !kernel.steps;
  for_each_nest(kernel.root, [&](const Nest& nest) {
    const Stage& stage = program.graph.stages[nest.stage];
    all &= stage.kind == StageKind::Compute && !running_of(program.graph, stage);
  });
  return all;
}

TaskChains task_chains(const Program& program, const Scan* scan) {
  const size_t count = program.kernels.size();
  TaskChains chains;
  chains.before = scan ? invariant_kernels(program, *scan) : std::vector<bool>(count, false);
  chains.continues.assign(count, false);
  chains.slices.assign(program.graph.tensors.size(), 0);
  if (!runs_chains(program.target)) return chains;
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

}  // namespace adjit::sched
