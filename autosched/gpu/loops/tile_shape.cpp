// autosched/gpu/loops/tile_shape.cpp -- the loops of threads that compute several results each.
#include "autosched/gpu/loops/tile_shape.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {
namespace {

int rank_of(const Stage& stage, const Loop& loop) {
  if (loop.kind == LoopKind::Thread) return 2;
  return loop.axis < stage.domain.output_rank ? 0 : 1;
}

// Results first, then serial loops of the reduction, then threads; the tile stays.
std::vector<size_t> order_of(const Stage& stage, const Nest& nest) {
  std::vector<size_t> order(nest.loops.size());
  for (size_t l = 0; l < order.size(); ++l) order[l] = l;
  std::stable_sort(order.begin(), order.begin() + static_cast<long>(tile_begin(nest)),
                   [&](size_t a, size_t b) {
                     return rank_of(stage, nest.loops[a]) < rank_of(stage, nest.loops[b]);
                   });
  return order;
}

Program tile_of(Program program, size_t stage, const TileShape& shape) {
  const Domain domain = program.graph.stages[stage].domain;
  if (shape.lanes > 1)
    program = vectorize(std::move(program), stage, domain.output_rank - 1, shape.lanes);
  for (size_t a = 0; a < domain.rank(); ++a)
    if (shape.unrolled[a] > 1) program = unroll(std::move(program), stage, a, shape.unrolled[a]);
  return program;
}

}  // namespace

Program register_tile_loops(Program program, size_t stage, const TileShape& shape) {
  program = tile_of(std::move(program), stage, shape);
  const Domain domain = program.graph.stages[stage].domain;
  for (size_t a = domain.output_rank; a < domain.rank(); ++a)
    if (shape.threads[a] > 1) program = threads(std::move(program), stage, a, shape.threads[a]);
  const std::vector<size_t> order = order_of(program.graph.stages[stage], nest_of(program, stage));
  program = with_order(std::move(program), stage, order);
  size_t loops = 0;
  const Nest& nest = nest_of(program, stage);
  while (loops < tile_begin(nest) && nest.loops[loops].axis < domain.output_rank) ++loops;
  return loops > 0 ? parallel(std::move(program), stage, loops) : std::move(program);
}

Program sum_loops(Program program, size_t sum, size_t reader, const TileShape& shape) {
  const size_t rank = program.graph.stages[sum].domain.output_rank;
  const auto points = [&](size_t a) {
    return shape.unrolled[a] * (a + 1 == rank ? shape.lanes : 1);
  };
  for (size_t a = 0; a < rank; ++a)
    if (points(a) > 1) program = tile(std::move(program), reader, a, std::array{points(a)});
  // The reader's loops over tiles first, then those over its points in one, behind the sum's.
  const std::vector<Loop>& loops = nest_of(program, reader).loops;
  std::vector<size_t> order(loops.size());
  for (size_t l = 0; l < order.size(); ++l) order[l] = l;
  const auto inside = std::ranges::stable_partition(
      order, [&](size_t l) { return points(loops[l].axis) == 1 || loops[l].step > 1; });
  const auto depth = static_cast<size_t>(inside.begin() - order.begin());
  program = with_order(std::move(program), reader, order);
  program = compute_at(std::move(program), sum, reader, depth);
  for (const size_t stage : {sum, reader}) program = tile_of(std::move(program), stage, shape);
  return depth > 0 ? parallel(std::move(program), reader, depth) : std::move(program);
}

}  // namespace adjit::sched
