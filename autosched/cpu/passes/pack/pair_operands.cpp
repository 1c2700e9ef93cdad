// autosched/cpu/passes/pack/pair_operands.cpp -- operands of bfloat16 products with two points of
// the reduction side by side.
#include "autosched/cpu/passes/pack/pair_operands.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "autosched/cpu/passes/pack/bf16_pairs.hpp"

namespace adjit::sched {

bool pair_operands(LayoutContext& c, size_t s) {
  const Stage before = c.stage(s);
  const Accesses accesses = c.accessed_by(before);
  const std::optional<size_t> axis = pair_axis(c.program.graph, before, accesses, c.machine);
  if (!axis) return false;
  TileChoice tile = c.choose(before, accesses, 0, true);
  if (!tile.vector_axis || *tile.vector_axis >= before.domain.output_rank) return false;
  std::vector<std::pair<TensorId, Packing>> packings;
  for (const MemoryAccess& access : accesses.reads) {
    if (!access.depends_on(*tile.vector_axis) && access.contiguous(*axis)) continue;
    const std::optional<Packing> packing =
        pairs_of(c.program.graph, before, access, tile, *axis, c.tasks_of(before));
    if (!packing) return false;
    packings.emplace_back(access.tensor, *packing);
  }
  if (!c.keeps(Decision::Pack, s)) return false;
  for (const auto& [tensor, packing] : packings) s = c.packed(s, tensor, packing);
  tile.factors[*axis] = 2;
  c.plans[stage_key(before)] = {.tile = std::move(tile)};
  return true;
}

}  // namespace adjit::sched
