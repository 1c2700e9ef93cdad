// autosched/cpu/passes/memory/prefetch.cpp -- rows that several passes read, fetched during the
// longest of them.
#include "autosched/cpu/passes/memory/prefetch.hpp"

#include <algorithm>
#include <cstdlib>

#include "autosched/analysis/access.hpp"
#include "autosched/analysis/exact_counts.hpp"
#include "autosched/analysis/task_chains.hpp"
#include "autosched/analysis/work.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {
namespace {

double points_in(const Nest& nest) {
  double points = 1;
  for (int64_t span : nest.spans) points *= static_cast<double>(span);
  return points;
}

// Vector instructions of one pass, but for loads.
double work_in(const Graph& graph, const Nest& nest) {
  return points_in(nest) * (WorkMeter(graph.pool)(graph.stages[nest.stage].bodies).cost + 1);
}

// Whether the nest reads whole rows of the tensor, along its lanes, that the iterations of the loop
// around it do not share, and that L2 holds beside others.
bool reads_rows(const Program& program, const Nest& nest, const MemoryAccess& access,
                const Loop& around, double work, const CpuMachine& machine) {
  if (access.guarded || nest.loops.empty() || nest.loops.back().kind != LoopKind::Vector ||
      !access.contiguous(nest.loops.back().axis))
    return false;
  const auto size = static_cast<double>(size_of(program.graph.info(access.tensor).dtype));
  double bytes = size, moves = 0;
  for (size_t a = 0; a < nest.spans.size(); ++a) {
    if (access.irregular[a]) return false;
    if (access.strides[a] != 0) bytes *= static_cast<double>(nest.spans[a]);
    moves += static_cast<double>(access.strides[a] * around.step *
                                 nest.axis_base[a].coefficient(around.variable));
  }
  if (bytes > thresholds().prefetch_far_bytes && work < thresholds().heavy_body * points_in(nest))
    return false;
  return bytes >= static_cast<double>(thresholds().stream_row_bytes) &&
         4 * bytes <= static_cast<double>(machine.l2_bytes) && std::abs(moves) * size >= bytes;
}

// Per tensor: whether it comes from beyond L2. What passes along a chain of tasks
// does not, however much all of them pass on.
std::vector<bool> far_tensors(const Program& program, const CpuMachine& machine) {
  const std::vector<int64_t> slices = task_chains(program).slices;
  std::vector<bool> far(program.scopes.size());
  for (uint32_t t = 0; t < far.size(); ++t) {
    const Scope scope = program.scopes[t];
    far[t] = (scope == Scope::Argument || (scope == Scope::Workspace && slices[t] == 0)) &&
             tensor_bytes(program.graph, TensorId{t}) > machine.l2_bytes;
  }
  return far;
}

// Of the nests attached inside the first `depth` loops, what fetches the rows of each far tensor.
std::vector<size_t> fetchers(const Program& program, const Nest& root, size_t depth,
                             const std::vector<bool>& far, const CpuMachine& machine) {
  struct Fetcher {
    TensorId tensor;
    double work;
    size_t stage;
    int passes;
  };
  std::vector<Fetcher> found;
  for (const Nest::Attached& attached : root.attached) {
    if (attached.depth != depth) continue;
    const Nest& nest = attached.nest;
    const double work = work_in(program.graph, nest);
    for (const MemoryAccess& access :
         accesses_of(program.graph, program.graph.stages[nest.stage]).reads) {
      if (!far[access.tensor.value] ||
          !reads_rows(program, nest, access, root.loops[depth - 1], work, machine))
        continue;
      const auto known = std::ranges::find(found, access.tensor, &Fetcher::tensor);
      if (known == found.end()) {
        found.push_back({access.tensor, work, nest.stage, 1});
      } else if (known->passes += 1; work > known->work) {
        known->work = work;
        known->stage = nest.stage;
      }
    }
  }
  for (TensorId read : tensors_read(program.graph, program.graph.stages[root.stage]))
    if (const auto known = std::ranges::find(found, read, &Fetcher::tensor); known != found.end())
      known->passes += 1;
  std::vector<size_t> stages;  // what one pass reads comes as fast as memory gives it anyway
  for (const Fetcher& fetcher : found)
    if (fetcher.passes > 1) stages.push_back(fetcher.stage);
  std::ranges::sort(stages);
  stages.erase(std::ranges::unique(stages).begin(), stages.end());
  return stages;
}

}  // namespace

Program fetch_rows(Program program, const CpuMachine& machine, Choices& choices) {
  const auto has_rows = [](const Kernel& kernel) { return !kernel.root.attached.empty(); };
  if (std::ranges::none_of(program.kernels, has_rows)) return program;
  const std::vector<bool> far = far_tensors(program, machine);
  std::vector<size_t> all;
  for (const Kernel& kernel : program.kernels) {
    const Nest& root = kernel.root;
    for (size_t depth = 1; depth <= tile_begin(root); ++depth) {
      const Loop& loop = root.loops[depth - 1];
      if (loop.kind != LoopKind::Serial || loop.trips < 2) continue;
      const std::vector<size_t> stages = fetchers(program, root, depth, far, machine);
      all.insert(all.end(), stages.begin(), stages.end());
    }
  }
  for (size_t stage : all)
    if (choices.keeps(Decision::Prefetch, program.graph, program.graph.stages[stage]))
      program = prefetch(std::move(program), stage);
  return program;
}

}  // namespace adjit::sched
