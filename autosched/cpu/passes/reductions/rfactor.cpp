// autosched/cpu/passes/reductions/rfactor.cpp -- partial results of long reductions.
#include "autosched/cpu/passes/reductions/rfactor.hpp"

#include <algorithm>

#include "autosched/analysis/exact_counts.hpp"
#include "autosched/cpu/passes/fuse_column_sums.hpp"
#include "autosched/cpu/passes/loops/interchange_reductions.hpp"
#include "autosched/cpu/passes/loops/tasks.hpp"
#include "autosched/cpu/passes/pack/profit.hpp"
#include "autosched/cpu/tile/matmul_like.hpp"
#include "autosched/machine/core_time.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {
namespace {

bool in_reduction(const TileChoice& tile, const Stage& stage) {
  return tile.vector_axis && *tile.vector_axis >= stage.domain.output_rank;
}

// Every row of a large operand is read once, contiguously along an output axis: rows should
// stream.
bool down_columns(const LayoutContext& c, const Stage& whole, const Accesses& accesses,
                  const TileChoice& tile) {
  if (!tile.vector_axis || *tile.vector_axis >= whole.domain.output_rank || !whole.domain.is_box())
    return false;
  double bytes = 0;
  for (const MemoryAccess& access : accesses.reads) {
    if (reuse(whole, access) >= 2 &&
        elements_touched(access, whole.domain) > thresholds().large_stage)
      return false;
    if (reduction_rows(c.program.graph, whole, access).stride >= thresholds().stream_row_bytes)
      bytes += static_cast<double>(tensor_bytes(c.program.graph, access.tensor));
  }
  return bytes > thresholds().column_share * static_cast<double>(c.machine.l2_bytes);
}

}  // namespace

bool rfactor_long_sum(LayoutContext& c, size_t s) {
  const Stage whole = c.stage(s);
  if (!has_partial_results(whole.combiner.kind)) return false;
  const DType dtype = c.program.graph.info(whole.results.front()).dtype;
  if (accumulator_of(dtype) != dtype) return false;
  const Accesses accesses = c.accessed_by(whole);
  const TileChoice tile = c.choose(whole, accesses, 0, true);
  double bytes = 0;
  for (TensorId id : tensors_read(c.program.graph, whole))
    bytes += static_cast<double>(tensor_bytes(c.program.graph, id));
  const CoreTime time{tile.cycles, cycles_from_memory(c.machine, bytes)};
  if (microseconds(c.machine, time) < thresholds().rfactor_microseconds) return false;
  int64_t tiles = 1;
  for (size_t a = 0; a < whole.domain.output_rank; ++a)
    tiles *= ceil_div(whole.domain.extents[a],
                      tile.factors[a] * (tile.vector_axis == a ? tile.lanes : 1));
  const bool columns = down_columns(c, whole, accesses, tile);
  if (tiles >= thresholds().work_parts && !columns) return false;
  const int64_t usual = 2 * thresholds().work_parts;
  for (size_t a = whole.domain.output_rank; a < whole.domain.rank(); ++a) {
    const int64_t extent = whole.domain.extents[a];
    if (extent < 4 || (tile.vector_axis == a && extent < 16 * usual)) continue;
    if (!c.keeps(Decision::Rfactor, s)) return false;
    const bool follows =
        !in_reduction(tile, whole) && follows_rows(c.program.graph, whole, accesses, a);
    const int64_t parts = follows ? parts_of_columns(bytes, extent, usual, c.machine) : usual;
    c.program = rfactor(std::move(c.program), s, a, std::min(parts, extent));
    ReductionPlan plan;
    const Stage& partial = c.stage(s);
    plan.tile = c.choose(partial, c.accessed_by(partial), 1, false);
    plan.in_parts = true;
    plan.reduction_outside = columns && partial.domain.is_box() && plan.tile.vector_axis &&
                             *plan.tile.vector_axis < partial.domain.output_rank;
    c.plans[stage_key(partial)] = std::move(plan);
    return true;
  }
  return false;
}

}  // namespace adjit::sched
