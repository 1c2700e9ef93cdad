// autosched/gpu/loops/block_loops.cpp -- what a block takes, and how many threads it has.
#include "autosched/gpu/loops/block_loops.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "autosched/gpu/loops/thread_loops.hpp"
#include "autosched/gpu/loops/vector_lanes.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"

namespace adjit::sched {
namespace {

// No GPU has run these kernels yet: where no finding is named, a number is a guess.
constexpr int64_t kLeastNeighbours = 8;  // terms that follow each other: a sector of float32
constexpr int64_t kLeastTerms = 32;      // of a reduction that threads share: a warp's
constexpr int64_t kPointsOfThread = 4;   // at least, where there are so many: an access of 16 bytes
constexpr int64_t kColumnThreads = 32;   // of a block, that take neighbouring results: a warp's

double results_of(const Domain& domain) {
  double results = 1;
  for (size_t a = 0; a < domain.output_rank; ++a) results *= static_cast<double>(domain.extents[a]);
  return results;
}

// Points of the loops of a nest from loop `first` on.
double points_inside(const Nest& nest, size_t first) {
  double points = 1;
  for (size_t l = first; l < nest.loops.size(); ++l)
    points *= static_cast<double>(nest.loops[l].trips);
  return points;
}

// A power of two, by the nest of the block that has the most points.
int64_t threads_for(double points, int64_t most) {
  return std::clamp<int64_t>(power_below(points / kPointsOfThread), kWarpThreads, most);
}

// The kernel's first loops, which a block takes an iteration of: those over results that stand
// outside what is attached, or of the reduction's kernel, in which its last axis of results has a
// loop over what blocks take.
Program own_tasks(Program program, size_t root, const GpuMachine& machine, size_t& depth) {
  const Nest& nest = nest_of(program, root);
  if (!nest.attached.empty()) {
    depth = nest.attached.front().depth;
    return program;
  }
  const Stage& stage = program.graph.stages[root];
  const BlockShare share = block_share(program.graph, stage, machine);
  const size_t rank = stage.domain.output_rank;
  depth = 0;
  while (depth < nest.loops.size() && nest.loops[depth].axis < rank) ++depth;
  if (share.results == 1 || depth == 0) return program;
  const std::vector<int64_t> step{share.results};
  return tile(std::move(program), root, rank - 1, step);
}

}  // namespace

bool leaves_threads_idle(double points, double blocks, const GpuMachine& machine) {
  constexpr double kBlocksAtOnce = 32;  // of a multiprocessor, at most
  return points < kPointsOfThread * kWarpThreads &&
         blocks > kBlocksAtOnce * machine.multiprocessors;
}

BlockShare block_share(const LoweredGraph& graph, const Stage& stage, const GpuMachine& machine) {
  BlockShare share;
  const Domain& domain = stage.domain;
  const double terms = terms_of(domain), results = results_of(domain);
  const std::optional<size_t> along = contiguous_axis(graph, stage);
  if (!along || domain.reduction_rank() == 0 || terms < kLeastTerms || results == 0 ||
      !may_cooperate(graph, stage))
    return share;
  const int64_t last = domain.output_rank > 0 ? domain.extents[domain.output_rank - 1] : 1;
  if (*along >= domain.output_rank) {
    if (domain.extents[*along] < kLeastNeighbours) return share;
    // Threads that have a result each share what they read, a block that has one does not.
    if (2 * results >= static_cast<double>(machine.multiprocessors) * machine.threads &&
        is_contraction(graph, stage))
      return share;
    share.kind = BlockShare::Kind::Rows;
    // Short rows share a block, if all multiprocessors have some.
    const double most = std::min(kBlockPoints / terms, results / machine.multiprocessors);
    share.results = std::min(power_below(most), power_below(static_cast<double>(last)));
  } else if (*along + 1 == domain.output_rank) {
    const int64_t lanes = lanes_along(graph, stage, *along, last);
    const double threads = results / static_cast<double>(lanes);
    if (2 * threads >= static_cast<double>(machine.multiprocessors) * machine.threads) return share;
    share.kind = BlockShare::Kind::Columns;
    share.results = kColumnThreads * lanes;
    if (last % share.results != 0)
      share.results = std::min(kColumnThreads, power_below(static_cast<double>(last)));
  }
  share.blocks =
      results / static_cast<double>(last) * static_cast<double>(ceil_div(last, share.results));
  if (leaves_threads_idle(terms * static_cast<double>(share.results), share.blocks, machine))
    return {};
  return share;
}

Program block_loops(Program program, size_t root, const GpuMachine& machine, int64_t most) {
  size_t depth = 0;
  program = own_tasks(std::move(program), root, machine, depth);
  double points = points_inside(nest_of(program, root), depth);
  std::vector<size_t> attached;
  for (const Nest::Attached& a : nest_of(program, root).attached) {
    attached.push_back(a.nest.stage);
    points = std::max(points, points_inside(a.nest, 0));
  }
  const int64_t threads = threads_for(points, most);
  for (const size_t stage : attached) program = thread_loops(std::move(program), stage, 0, threads);
  program = thread_loops(std::move(program), root, depth, threads);
  return depth > 0 ? parallel(std::move(program), root, depth) : std::move(program);
}

}  // namespace adjit::sched
