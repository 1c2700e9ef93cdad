// autosched/cpu/passes/reductions/output_layout.cpp -- whether lanes are to be the innermost
// dimension of results.
#include "autosched/cpu/passes/reductions/output_layout.hpp"

#include "autosched/cpu/passes/loops/kernel.hpp"
#include "autosched/cpu/passes/loops/outer_reduction.hpp"
#include "autosched/machine/core_time.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"

namespace adjit::sched {
namespace {

bool comes_in_passes(const Program& program, size_t stage, const TileChoice& tile,
                     const CpuMachine& machine) {
  Choices own;
  const Program tiled = sum_in_passes(apply_tile(program, stage, tile), stage, machine, own);
  return nest_of(tiled, stage).loops.front().axis >= program.graph.stages[stage].domain.output_rank;
}

}  // namespace

bool wants_lanes_innermost(const Program& program, size_t stage, const TileChoice& tile,
                           const CpuMachine& machine) {
  const Stage& s = program.graph.stages[stage];
  const Domain& domain = s.domain;
  if (!is_product_sum(program.graph, s) || domain.reduction_rank() < 2 || !tile.vector_axis ||
      *tile.vector_axis + 1 >= domain.output_rank)
    return false;
  const MemoryAccess result = accesses_of(program.graph, s).result;
  for (size_t a = 0; a < domain.output_rank; ++a)
    if ((a == *tile.vector_axis || tile.factors[a] > 1) && result.contiguous(a)) return false;
  const size_t bytes = size_of(program.graph.info(s.results.front()).dtype);
  const double points = box_points(domain);
  return machine.core.scattered_copy_cycles * points / terms_of(domain) <=
             thresholds().extra_work * points / lanes_per_cycle(machine, bytes) &&
         comes_in_passes(program, stage, tile, machine);
}

}  // namespace adjit::sched
