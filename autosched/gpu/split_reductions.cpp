// autosched/gpu/split_reductions.cpp -- long reductions to few results, by more threads.
#include "autosched/gpu/split_reductions.hpp"

#include <algorithm>
#include <optional>

#include "autosched/analysis/access.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/points.hpp"

namespace adjit::sched {
namespace {

constexpr double kShort = 512;      // terms that one thread adds alone
constexpr double kLeastTerms = 32;  // of a part
constexpr int64_t kLeastNeighbours = kWarpThreads;

bool may_split(const LoweredGraph& graph, const Stage& stage) {
  return stage.kind == StageKind::Compute && !running_of(graph, stage) &&
         has_partial_results(stage.combiner.kind) &&
         std::ranges::all_of(stage.results, [&](TensorId id) {
           const DType dtype = graph.info(id).dtype;
           return accumulator_of(dtype) == dtype;
         });
}

struct Split {
  size_t axis = 0;
  int64_t parts = 0;
};

// The parts of one axis are next to each other: where its elements are, a thread takes one of them
// in each row, so that a warp's threads read neighbours; else the longest axis is cut into ranges.
Split split_of(const LoweredGraph& graph, const Stage& stage, double wanted) {
  const Accesses accesses = accesses_of(graph, stage);
  const Domain& domain = stage.domain;
  size_t longest = domain.output_rank;
  for (size_t a = domain.output_rank; a < domain.rank(); ++a) {
    const int64_t extent = domain.extents[a];
    const bool neighbours = std::ranges::any_of(
        accesses.reads, [&](const MemoryAccess& read) { return read.contiguous(a); });
    if (neighbours && domain.reduction_rank() > 1 && extent >= kLeastNeighbours &&
        static_cast<double>(extent) <= wanted)
      return {a, extent};
    if (extent > domain.extents[longest]) longest = a;
  }
  const auto parts = static_cast<int64_t>(wanted);
  return {longest, std::min(parts, domain.extents[longest])};
}

std::optional<Split> worth_splitting(const LoweredGraph& graph, const Stage& stage,
                                     const GpuMachine& machine) {
  if (!may_split(graph, stage)) return std::nullopt;
  const double terms = terms_of(stage.domain);
  const double results = box_points(stage.domain) / terms;
  const double threads = static_cast<double>(machine.multiprocessors) * machine.threads / 2;
  if (terms < kShort || 2 * results > threads) return std::nullopt;
  const Split split = split_of(graph, stage, std::min(threads / results, terms / kLeastTerms));
  return split.parts >= 2 ? std::optional(split) : std::nullopt;
}

}  // namespace

Program split_long_reductions(Program program, const GpuMachine& machine) {
  // What combines the parts stands behind them: it is looked at next.
  for (size_t s = 0; s < program.graph.stages.size(); ++s)
    if (const auto split = worth_splitting(program.graph, program.graph.stages[s], machine))
      program = rfactor(std::move(program), s, split->axis, split->parts);
  return program;
}

}  // namespace adjit::sched
