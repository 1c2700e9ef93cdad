// autosched/cpu/passes/loops/tile_transpose.cpp -- stages whose lanes lie apart in what they read
// or in what they write.
#include "autosched/cpu/passes/loops/tile_transpose.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "autosched/analysis/reads/gather_access.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {

std::optional<size_t> transposed_along(const Stage& stage, const TileChoice& tile,
                                       const Accesses& accesses) {
  if (stage.domain.reduction_rank() > 0 || !tile.vector_axis) return std::nullopt;
  const auto along = [&](const MemoryAccess& access) -> std::optional<size_t> {
    const int64_t across = access.strides[*tile.vector_axis];
    if (across >= -1 && across <= 1) return std::nullopt;
    for (size_t a = 0; a < stage.domain.output_rank; ++a)
      if (access.strides[a] == 1 && !access.irregular[a]) return a;
    return std::nullopt;
  };
  for (const MemoryAccess& access : accesses.reads)
    if (const std::optional<size_t> axis = along(access)) return axis;
  return along(accesses.result);
}

void take_pieces(const Graph& graph, const Nest& nest, size_t axis, size_t task_loops,
                 TileChoice& tile) {
  if (tile.factors[axis] > 1) return;  // a part of the body each (select_axis.hpp)
  std::ranges::fill(tile.factors, 1);
  size_t settled = task_loops;
  for (const Nest::Attached& attached : nest.attached) settled = std::max(settled, attached.depth);
  for (size_t l = 0; l < settled; ++l)
    if (nest.loops[l].axis == axis) return;
  const int64_t piece = row_piece(graph, graph.stages[nest.stage].results.front());
  if (piece > 1 && tile.lanes % piece == 0 && nest.spans[axis] >= piece) tile.factors[axis] = piece;
}

Program walk_operand(Program program, size_t stage, const Accesses& accesses) {
  const Nest& nest = nest_of(program, stage);
  const Stage& s = program.graph.stages[stage];
  if (!nest.attached.empty() || accesses.reads.size() != 1 || s.domain.reduction_rank() > 0)
    return program;
  const MemoryAccess& read = accesses.reads.front();
  // Axes from `rows` on make whole rows of the result.
  size_t rows = s.domain.output_rank;
  auto bytes = static_cast<int64_t>(size_of(program.graph.info(s.results.front()).dtype));
  while (rows > 0 && bytes < thresholds().stream_row_bytes) bytes *= s.domain.extents[--rows];
  const size_t end = tile_begin(nest);
  size_t outer = 0;
  while (outer < end && nest.loops[outer].axis < rows) ++outer;
  std::vector<size_t> order(nest.loops.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(outer),
                   [&](size_t a, size_t b) {
                     const auto step = [&](size_t l) {
                       return std::abs(read.strides[nest.loops[l].axis]) * nest.loops[l].step;
                     };
                     return step(a) > step(b);
                   });
  return with_order(std::move(program), stage, order);
}

Program order_transposition(Program program, size_t stage, size_t axis) {
  const Nest& nest = nest_of(program, stage);
  if (!nest.attached.empty()) return program;
  std::vector<size_t> order(nest.loops.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto begin = order.begin() + static_cast<std::ptrdiff_t>(parallel_depth(nest));
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(tile_begin(nest));
  std::stable_partition(begin, end, [&](size_t l) { return nest.loops[l].axis != axis; });
  return with_order(std::move(program), stage, order);
}

}  // namespace adjit::sched
