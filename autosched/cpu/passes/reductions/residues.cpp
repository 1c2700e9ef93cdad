// autosched/cpu/passes/reductions/residues.cpp -- one part for each residue of an axis that reads
// divide.
#include "autosched/cpu/passes/reductions/residues.hpp"

#include <algorithm>

#include "autosched/cpu/passes/pack/profit.hpp"
#include "autosched/cpu/tile/matmul_like.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/program/points.hpp"

namespace adjit::sched {
bool take_residues(LayoutContext& c, size_t s) {
  const Accesses accesses = c.accessed_by(c.stage(s));
  const bool contraction = is_product_sum(c.program.graph, c.stage(s)) &&
                           std::ranges::all_of(accesses.reads, [&](const MemoryAccess& access) {
                             return reuse(c.stage(s), access) >= thresholds().pack_reuse;
                           });
  const TileChoice tile = c.choose(c.stage(s), accesses, 0, contraction);
  size_t taken = 0;  // each puts one more axis in front
  const size_t outputs = c.stage(s).domain.output_rank;
  for (size_t a = 0; a < outputs; ++a) {
    if (!contraction && tile.vector_axis != a) continue;
    const bool divided = std::ranges::any_of(
        accesses.reads, [&](const MemoryAccess& access) { return access.irregular[a]; });
    const Domain& domain = c.stage(s).domain;
    if (!divided || domain.extents[a + taken] < 2 * kLargestResidue) continue;
    const int64_t modulus = residue_modulus(c.program.graph, c.stage(s), a + taken);
    const bool shared = contraction && !domain.is_bounded(a + taken) &&
                        domain.extents[a + taken] >= 2 * modulus &&
                        terms_of(c.stage(s).domain) >= thresholds().residue_terms &&
                        std::ranges::any_of(accesses.reads, [&](const MemoryAccess& access) {
                          return access.irregular[a] && access.strides[a] == 0;
                        });
    const int64_t largest = shared ? kLargestGroup : kLargestResidue;
    if (modulus < 2 || modulus > largest || !c.keeps(Decision::Residues, s)) continue;
    c.program = split_residues(std::move(c.program), s, a + taken, modulus, shared);
    if (taken++ > 0) {
      const size_t between[] = {s + 1};  // puts residues together for the next to put together
      c.program = inline_stages(std::move(c.program), between);
    }
  }
  return taken > 0;
}

}  // namespace adjit::sched
