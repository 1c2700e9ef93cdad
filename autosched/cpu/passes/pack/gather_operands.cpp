// autosched/cpu/passes/pack/gather_operands.cpp -- operands whose rows are at places that data
// names.
#include "autosched/cpu/passes/pack/gather_operands.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "autosched/cpu/passes/indexed/indexed_rows.hpp"
#include "autosched/cpu/passes/pack/gather_layout.hpp"
#include "autosched/machine/thresholds.hpp"

namespace adjit::sched {
size_t gather_rows(LayoutContext& c, size_t s) {
  const Stage before = c.stage(s);
  const size_t first = s;
  std::vector<TensorId> seen;
  for (const MemoryAccess& access : c.accessed_by(before).reads) {
    if (std::ranges::find(seen, access.tensor) != seen.end()) continue;
    const std::optional<Packing> packing = rows_innermost(c.program.graph, before, access);
    if (!packing) continue;
    seen.push_back(access.tensor);
    const double now = c.choose(c.stage(s), c.accessed_by(c.stage(s)), 0, true).cycles;
    Program trial = pack(c.program, s, access.tensor, *packing);
    const size_t moved = s + trial.graph.stages.size() - c.program.graph.stages.size();
    std::swap(c.program, trial);
    const double then = c.choose(c.stage(moved), c.accessed_by(c.stage(moved)), 0, true).cycles +
                        c.machine.core.scattered_copy_cycles * access.elements / access.repeats;
    std::swap(c.program, trial);
    if (then > (1 - thresholds().traffic_gain) * now) continue;
    if (auto summed = with_summed_rows(c.program, s, access.tensor, *packing, c.plans, c.choices)) {
      s += summed->graph.stages.size() - c.program.graph.stages.size();
      c.program = std::move(*summed);
      return s;
    }
    if (!c.keeps(Decision::Pack, s)) continue;
    c.program = std::move(trial);
    s = moved;
  }
  if (s == first) return s;
  // Tiles that walk rows along an output axis need all of it: no loop over it goes outside.
  const Accesses accesses = c.accessed_by(c.stage(s));
  const TileChoice tile = c.choose(c.stage(s), accesses, 0, true);
  if (walks_rows_of_data(c.stage(s), accesses, tile))
    c.plans[stage_key(c.stage(s))] = {tile, false, {}};
  return s;
}

}  // namespace adjit::sched
