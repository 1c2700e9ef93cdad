// autosched/step_invariants.cpp -- kernels that no step changes.
#include "autosched/step_invariants.hpp"

#include <algorithm>

#include "autosched/nests.hpp"

namespace adjit {
namespace {

// Tensors that a program writes after the kernel that defines them: a scatter goes on in the buffer
// that it starts from, and what lies in place of a result moves with that from step to step.
std::vector<bool> written_over(const Program& steps) {
  const Graph& graph = steps.graph;
  std::vector<bool> found(graph.tensors.size(), false);
  for (size_t s : stages_in_place(steps))
    found[graph.pool.read_tensor(graph.stages[s].bodies[0]).value] = true;
  for (const Stage& stage : graph.stages)
    if (stage.kind == StageKind::Scatter) found[stage.initial.value] = true;
  return found;
}

}  // namespace

std::vector<bool> invariant_kernels(const Program& steps, const Scan& scan) {
  const Graph& graph = steps.graph;
  std::vector<bool> same(graph.tensors.size(), false);
  for (size_t k = repeats_of(scan).first_same; k < graph.inputs.size(); ++k)
    same[graph.inputs[k].value] = true;
  for (const ConstantData& c : graph.constants) same[c.tensor.value] = true;
  const std::vector<bool> overwritten = written_over(steps);
  std::vector<bool> invariant;
  for (const Kernel& kernel : steps.kernels) {
    bool all = !kernel.steps;
    std::vector<TensorId> results;
    for_each_nest(kernel.root, [&](const Nest& nest) {
      const Stage& stage = graph.stages[nest.stage];
      all &= stage.kind == StageKind::Compute;
      results.insert(results.end(), stage.results.begin(), stage.results.end());
    });
    for_each_nest(kernel.root, [&](const Nest& nest) {
      for (TensorId id : tensors_read(graph, graph.stages[nest.stage]))
        all &= same[id.value] || std::ranges::find(results, id) != results.end();
    });
    for (TensorId id : results)
      all &= steps.scopes[id.value] != Scope::Argument && !overwritten[id.value];
    if (all)
      for (TensorId id : results) same[id.value] = true;
    invariant.push_back(all);
  }
  return invariant;
}

Repeats repeats_of(const Scan& scan) {
  constexpr int64_t kUnknown = 8;  // steps of a conditional scan: as if a few
  return {scan.conditional ? kUnknown : std::max<int64_t>(scan.trips, 1),
          scan.carries + scan.scanned};
}

}  // namespace adjit
