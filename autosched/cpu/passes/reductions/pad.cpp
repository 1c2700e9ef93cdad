// autosched/cpu/passes/reductions/pad.cpp -- zeros around operands of contractions.
#include "autosched/cpu/passes/reductions/pad.hpp"

#include <optional>
#include <utility>

#include "autosched/cpu/passes/loops/interchange_reductions.hpp"
#include "autosched/cpu/passes/pack/profit.hpp"
#include "autosched/cpu/tile/choose_tile.hpp"
#include "autosched/cpu/tile/matmul_like.hpp"
#include "autosched/machine/thresholds.hpp"

namespace adjit::sched {
namespace {

// Whether conditions on an operand's reads only bound loops around the tile, as fast as with
// zeros.
bool bound_by_loops(LayoutContext& c, size_t s, const Accesses& accesses, TensorId operand,
                    const Packing& zeros) {
  const Stage& before = c.stage(s);
  const TileChoice tile = c.choose(before, accesses, 0, true);
  if (asks_in_tile(before.domain, tile)) return false;
  Program apart = c.program;
  const size_t padded = c.packed(s, operand, zeros);
  const TileChoice other = c.choose(c.stage(padded), c.accessed_by(c.stage(padded)), 0, true);
  c.program = std::move(apart);
  return other.vector_axis == tile.vector_axis && other.factors == tile.factors;
}

}  // namespace

size_t pad_operand(LayoutContext& c, size_t s) {
  const Stage before = c.stage(s);
  if (!is_product_sum(c.program.graph, before)) return s;
  const Accesses accesses = c.accessed_by(before);
  for (const MemoryAccess& access : accesses.reads) {
    if (!is_factor(c.program.graph, before, access.tensor) ||
        reuse(before, access) < thresholds().pack_reuse)
      continue;
    std::optional<Packing> packing = zeros_around(c.program.graph, before, access.read);
    if (!packing || bound_by_loops(c, s, accesses, access.tensor, *packing) ||
        !c.keeps(Decision::Pad, s))
      continue;
    if (reuse(before, access) >= thresholds().column_reuse &&
        long_axis(c.program.graph, before, accesses).has_value()) {
      Program apart = c.program;
      const size_t walked = c.packed(
          s, access.tensor, as_walked(c.program.graph, before, accesses, access, *packing));
      const Accesses after = c.accessed_by(c.stage(walked));
      const TileChoice tile = c.choose(c.stage(walked), after, 0, true);
      if (walks_closely(c.program.graph, c.stage(walked), after, accesses, tile, c.machine))
        return walked;
      c.program = std::move(apart);
    }
    return c.packed(s, access.tensor, *packing);
  }
  return s;
}

}  // namespace adjit::sched
