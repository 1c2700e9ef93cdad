// autosched/cpu/passes/reductions/widen.cpp -- operands of half types that are converted once.
#include "autosched/cpu/passes/reductions/widen.hpp"

#include "autosched/cpu/passes/pack/panels.hpp"
#include "autosched/cpu/passes/pack/profit.hpp"
#include "autosched/cpu/tile/matmul_like.hpp"
#include "autosched/machine/thresholds.hpp"

namespace adjit::sched {

size_t widen_operands(LayoutContext& c, size_t s) {
  const Stage before = c.stage(s);
  if (!is_product_sum(c.program.graph, before)) return s;
  for (const MemoryAccess& access : c.accessed_by(before).reads) {
    if (access.guarded || reuse(before, access) < thresholds().pack_reuse) continue;
    if (!is_widened(c.program.graph, c.stage(s), access.tensor) || !c.keeps(Decision::Pack, s))
      continue;
    Packing packing = as_it_is(c.program.graph, access.tensor);
    packing.widen = true;
    s = c.packed(s, access.tensor, packing);
  }
  return s;
}

}  // namespace adjit::sched
