// autosched/analysis/scan_invariants.cpp -- kernels that no step changes.
#include "autosched/analysis/scan_invariants.hpp"

#include <algorithm>

#include "autosched/analysis/shared_buffers.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {

std::vector<bool> invariant_kernels(const Program& steps, const Scan& scan) {
  const Graph& graph = steps.graph;
  std::vector<bool> same(graph.tensors.size(), false);
  for (size_t k = repeats_of(scan).first_same; k < graph.inputs.size(); ++k)
    same[graph.inputs[k].value] = true;
  for (const ConstantData& c : graph.constants) same[c.tensor.value] = true;
  // What shares a buffer is written after the kernel that makes it, or moves with a result from
  // step to step.
  const std::vector<uint32_t> buffer = shared_buffers(steps);
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
      all &= steps.scopes[id.value] != Scope::Argument && buffer[id.value] == id.value;
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

}  // namespace adjit::sched
