// autosched/cpu/passes/loops/order.hpp -- the order of a nest's loops outside its register tile.
#pragma once

#include "autosched/analysis/access.hpp"
#include "autosched/cpu/passes/stage_plans.hpp"
#include "autosched/decisions/choices.hpp"
#include "autosched/machine/cpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Trips of the rows' loop whose operand fills half the second-level cache.
int64_t rows_in_cache(const Stage& stage, const TileChoice& tile, const Accesses& accesses,
                      const CpuMachine& machine);

/// Long reductions of matrix products run in blocks of about 512 outside the outputs' loops, or as
/// they are planned.
Program block_reduction(Program program, size_t stage, const ReductionPlan& plan,
                        const Accesses& accesses);

/// Inside the parallel loops: first the reductions that run outside the outputs (blocks of a long
/// one, or all of them), then, where the loops over results are not `ordered` otherwise, the lanes'
/// loop outside the rows' one, so that a panel of columns stays close while the rows pass.
Program order_outputs(Program program, size_t stage, const ReductionPlan& plan,
                      const Accesses& accesses, const CpuMachine& machine, bool ordered,
                      Choices& choices);

/// The lanes' loop outside the rows' one: a panel is copied once for all rows.
Program panels_outside_rows(Program program, size_t stage, const TileChoice& tile,
                            const Accesses& accesses);

}  // namespace adjit::sched
