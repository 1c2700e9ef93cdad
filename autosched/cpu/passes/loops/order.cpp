// autosched/cpu/passes/loops/order.cpp -- the order of a nest's loops outside its register tile.
#include "autosched/cpu/passes/loops/order.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "autosched/cpu/tile/matmul_like.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {
namespace {

// Whether a serial loop steps over another serial loop of its axis.
bool is_block(const Nest& nest, size_t loop) {
  for (size_t l = loop + 1; l < tile_begin(nest); ++l)
    if (nest.loops[l].axis == nest.loops[loop].axis) return true;
  return false;
}

}  // namespace

int64_t rows_in_cache(const Stage& stage, const TileChoice& tile, const Accesses& accesses,
                      const CpuMachine& machine) {
  const std::optional<size_t> rows = rows_axis(stage, tile, accesses);
  if (!rows) return INT64_MAX;
  const double trips =
      static_cast<double>(machine.l2_bytes) / 2 / row_bytes(stage, tile.factors[*rows]);
  return std::max<int64_t>(4, static_cast<int64_t>(trips));
}

Program block_reduction(Program program, size_t stage, const ReductionPlan& plan,
                        const Accesses& accesses) {
  const Stage& s = program.graph.stages[stage];
  const TileChoice& tile_choice = plan.tile;
  if (plan.streamed_steps > 0) {
    const int64_t steps[] = {plan.streamed_steps};
    return tile(std::move(program), stage, s.domain.output_rank, steps);
  }
  if (!s.domain.is_box() || !rows_axis(s, tile_choice, accesses) ||
      s.domain.reduction_rank() != 1 || !accesses.result.contiguous(*tile_choice.vector_axis))
    return program;
  const size_t axis = s.domain.output_rank;
  const int64_t extent = s.domain.extents[axis];
  if (extent <= thresholds().whole_reduction) return program;
  const int64_t blocks = ceil_div(extent, reduction_block());
  const int64_t steps[] = {ceil_div(ceil_div(extent, blocks), 16) * 16};
  return tile(std::move(program), stage, axis, steps);
}

Program order_outputs(Program program, size_t stage, const ReductionPlan& plan,
                      const Accesses& accesses, const CpuMachine& machine, bool ordered,
                      Choices& choices) {
  const Stage& s = program.graph.stages[stage];
  const Nest& nest = nest_of(program, stage);
  if (!nest.attached.empty()) return program;
  auto first = static_cast<std::ptrdiff_t>(parallel_depth(nest));
  if (plan.reduction_outside)  // the parts of the split stay outermost
    while (nest.loops[static_cast<size_t>(first)].axis == 0) ++first;
  const auto end = static_cast<std::ptrdiff_t>(tile_begin(nest));
  std::vector<size_t> order(nest.loops.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_partition(order.begin() + first, order.begin() + end, [&](size_t l) {
    const Loop& loop = nest.loops[l];
    return loop.axis >= s.domain.output_rank && (plan.reduction_outside || is_block(nest, l));
  });
  const std::optional<size_t> rows = rows_axis(s, plan.tile, accesses);
  for (auto k = first; rows && !ordered && plan.panels.empty() && k + 1 < end; ++k) {
    const Loop& outer = nest.loops[order[static_cast<size_t>(k)]];
    const Loop& inner = nest.loops[order[static_cast<size_t>(k + 1)]];
    if (outer.axis != *rows || inner.axis != *plan.tile.vector_axis) continue;
    const double bytes = row_bytes(s, plan.tile.factors[*rows] * outer.trips);
    if (bytes <= static_cast<double>(machine.l2_bytes) * thresholds().l2_share &&
        choices.keeps(Decision::Order, program.graph, s))
      std::swap(order[static_cast<size_t>(k)], order[static_cast<size_t>(k + 1)]);
    break;
  }
  return with_order(std::move(program), stage, order);
}

Program panels_outside_rows(Program program, size_t stage, const TileChoice& tile,
                            const Accesses& accesses) {
  const Nest& nest = nest_of(program, stage);
  const std::optional<size_t> rows = rows_axis(program.graph.stages[stage], tile, accesses);
  std::vector<size_t> order(nest.loops.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(tile_begin(nest));
  const auto of_axis = [&](size_t axis) {
    return std::find_if(order.begin(), end, [&](size_t l) { return nest.loops[l].axis == axis; });
  };
  const auto from = of_axis(*rows), to = of_axis(*tile.vector_axis);
  if (from < to && to != end) std::rotate(from, to, to + 1);
  return with_order(std::move(program), stage, order);
}

}  // namespace adjit::sched
