// autosched/cpu/passes/pack/pack_operands.cpp -- operands of contractions in the layout that the
// tile wants.
#include "autosched/cpu/passes/pack/pack_operands.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "autosched/cpu/passes/loops/interchange_reductions.hpp"
#include "autosched/cpu/passes/pack/panels.hpp"
#include "autosched/cpu/passes/pack/profit.hpp"
#include "autosched/cpu/tile/matmul_like.hpp"
#include "autosched/program/graph_edit.hpp"

namespace adjit::sched {
namespace {

// The stage as each task sees it that goes on from what the one before left: one point of the
// axes of such tasks.
Stage of_one_pass(const LayoutContext& c, Stage stage) {
  for (size_t axis : c.tasks_of(stage))
    if (axis >= stage.domain.output_rank) stage.domain.extents[axis] = 1;
  return stage;
}

bool in_panels(const LayoutContext& c, const Stage& stage, const Accesses& accesses,
               const MemoryAccess& access, const TileChoice& tile) {
  return access.repeats == 1 &&
         copies_panels(c.program.graph, stage, access, tile, accesses, c.machine);
}

// Steps of blocks in which an operand is streamed in place of its panels; 0: none is.
int64_t streamed(const LayoutContext& c, const Stage& stage, const Accesses& accesses,
                 const TileChoice& tile) {
  const bool any = std::ranges::any_of(accesses.reads, [&](const MemoryAccess& access) {
    return !access.guarded && leaves_caches(c.program.graph, access, c.machine) &&
           in_panels(c, stage, accesses, access, tile);
  });
  return any ? streamed_steps(c.program.graph, stage, tile, accesses, c.machine) : 0;
}

// Whether all reads of the tensor have the axis as the same dimension and are not guarded: one
// layout serves them.
bool one_layout(const LayoutContext& c, const Accesses& accesses, const MemoryAccess& access,
                size_t axis) {
  const size_t dim = dimension_of(c.program.graph, access, axis);
  return std::ranges::all_of(accesses.reads, [&](const MemoryAccess& other) {
    return other.tensor != access.tensor || other.read == access.read ||
           (!other.guarded && dim != SIZE_MAX && dimension_of(c.program.graph, other, axis) == dim);
  });
}

}  // namespace

void pack_operands(LayoutContext& c, size_t s) {
  const Stage before = of_one_pass(c, c.stage(s));
  const Accesses accesses = c.accessed_by(before);
  const TileProblem problem = c.problem_of(before, accesses, 0, true);
  TileChoice tile = best_tile(problem, c.choices);
  // The cost model knows nothing of what is fetched ahead: no other tile is offered there.
  const int64_t steps = streamed(c, before, accesses, tile);
  if (steps == 0)
    tile = choose_tile(problem, c.choices, Decision::PackedTile,
                       c.copies.tile_for(problem, tile, c.machine));
  if (!tile.vector_axis || *tile.vector_axis >= before.domain.output_rank) return;
  const size_t lanes_axis = *tile.vector_axis;
  const OperandRows rows(c.program.graph, before, accesses, tile, c.machine);
  std::vector<TensorId> done, panelled;  // of the former, all reads
  bool copied = false, streams = false;
  const auto copy = [&](const MemoryAccess& access, Packing packing) {
    if (one_layout(c, accesses, access, lanes_axis))
      done.push_back(access.tensor);
    else
      packing.read = read_number(c.program.graph, c.stage(s), access.read);
    s = c.packed(s, access.tensor, packing);
    copied = true;
  };
  for (size_t r = 0; r < accesses.reads.size(); ++r) {
    const MemoryAccess& access = accesses.reads[r];
    if (access.guarded || std::ranges::find(done, access.tensor) != done.end()) continue;
    const auto shape = wanted_panels(c.program.graph, rows, accesses, tile, r);
    if (in_panels(c, before, accesses, access, tile) &&
        (shape || leaves_caches(c.program.graph, access, c.machine))) {
      if (!c.keeps(Decision::Pack, s)) continue;
      streams = steps > 0;
      if (streams) continue;
      copy(access, as_it_is(c.program.graph, access.tensor));
      panelled.push_back(c.program.graph.stages[s - 1].results.front());
      continue;
    }
    if (!shape || !c.keeps(Decision::Pack, s)) continue;
    c.copies.add(before, access.tensor, tile, *shape);
    Packing packing =
        panels(c.program.graph, before, access, shape->dimension, shape->width, c.tasks_of(before));
    if (walks_closely(c.program.graph, before, accesses, accesses, tile, c.machine))
      packing = as_walked(c.program.graph, before, accesses, access, std::move(packing));
    copy(access, std::move(packing));
  }
  if (copied || streams)
    c.plans[stage_key(before)] = {.tile = std::move(tile),
                                  .panels = std::move(panelled),
                                  .streamed_steps = streams ? steps : 0};
}

}  // namespace adjit::sched
