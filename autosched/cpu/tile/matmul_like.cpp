// autosched/cpu/tile/matmul_like.cpp -- stages that are like a matrix product.
#include "autosched/cpu/tile/matmul_like.hpp"

#include <algorithm>

#include "autosched/analysis/exact_counts.hpp"
#include "autosched/machine/thresholds.hpp"

namespace adjit::sched {
namespace {

// Whether every index of a read is an axis by itself: a panel of it is then a box.
bool plain_index(const ExprPool& pool, ExprId read) {
  return std::ranges::all_of(pool.read_index(read),
                             [&](ExprId id) { return pool.is(id, Op::Axis); });
}

}  // namespace

std::optional<size_t> rows_axis(const Stage& stage, const TileChoice& tile,
                                const Accesses& accesses) {
  if (!tile.vector_axis || *tile.vector_axis >= stage.domain.output_rank) return std::nullopt;
  std::optional<size_t> best;
  for (size_t a = 0; a < stage.domain.output_rank; ++a) {
    if (a == *tile.vector_axis || tile.factors[a] < 2) continue;
    bool reused = false, walked = false;
    for (const MemoryAccess& access : accesses.reads)
      (access.depends_on(*tile.vector_axis) ? reused : walked) |=
          access.depends_on(*tile.vector_axis) != access.depends_on(a);
    if (reused && walked && (!best || tile.factors[a] > tile.factors[*best])) best = a;
  }
  return best;
}

int64_t reduction_block() { return std::max<int64_t>(1, thresholds().whole_reduction / 2); }

double row_bytes(const Stage& stage, int64_t rows) {
  double bytes = 4 * static_cast<double>(rows);
  for (size_t a = stage.domain.output_rank; a < stage.domain.rank(); ++a)
    bytes *= static_cast<double>(stage.domain.extents[a] > thresholds().whole_reduction
                                     ? reduction_block()
                                     : stage.domain.extents[a]);
  return bytes;
}

bool copies_panels(const Graph& graph, const Stage& stage, const MemoryAccess& operand,
                   const TileChoice& tile, const Accesses& accesses, const CpuMachine& machine) {
  const std::optional<size_t> rows = rows_axis(stage, tile, accesses);
  if (!rows || !stage.domain.is_box() || stage.domain.reduction_rank() != 1) return false;
  const size_t lanes = *tile.vector_axis, reduction = stage.domain.output_rank;
  if (!operand.contiguous(lanes) || operand.depends_on(*rows) || operand.guarded ||
      !accesses.result.contiguous(lanes) || !plain_index(graph.pool, operand.read))
    return false;
  // A panel is made inside the lanes' loop, and holds all that the loops inside that one walk.
  for (size_t a = std::min(*rows, lanes) + 1; a < stage.domain.output_rank; ++a)
    if (a != lanes && operand.depends_on(a) && stage.domain.extents[a] > 1) return false;
  const auto element = static_cast<int64_t>(size_of(graph.info(operand.tensor).dtype));
  const int64_t rows_extent = stage.domain.extents[*rows];
  return static_cast<double>(rows_extent) >= thresholds().contraction_reuse &&
         operand.strides[reduction] * element >= thresholds().stream_row_bytes &&
         stage.domain.extents[lanes] * element >= thresholds().stream_row_bytes &&
         operand.elements * static_cast<double>(element) >=
             thresholds().panel_share * static_cast<double>(machine.l2_bytes) &&
         row_bytes(stage, rows_extent) <= static_cast<double>(machine.l2_bytes) / 2;
}

bool leaves_caches(const Graph& graph, const MemoryAccess& operand, const CpuMachine& machine) {
  const size_t element = size_of(graph.info(operand.tensor).dtype);
  return operand.elements * static_cast<double>(element) >=
         2 * static_cast<double>(machine.l2_bytes);
}

int64_t streamed_steps(const Graph& graph, const Stage& stage, const TileChoice& tile,
                       const Accesses& accesses, const CpuMachine& machine) {
  const Domain& domain = stage.domain;
  if (!rows_axis(stage, tile, accesses) ||
      domain.extents[domain.output_rank] <
          thresholds().steps_that_pay * thresholds().streamed_steps)
    return 0;
  const int64_t result = tensor_bytes(graph, stage.results.front());
  return result / std::max(1, machine.cores) <= machine.l2_bytes / 2 ? thresholds().streamed_steps
                                                                     : 0;
}

}  // namespace adjit::sched
