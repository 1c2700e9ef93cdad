// autosched/cpu/passes/loops/partition_matmul.hpp -- whether the tasks of a matrix product are
// parts of its rows or of its columns.
//
// Either way each core walks one operand as a whole, and its part of the other one. Parts come out
// evenly or not (rows of 14 in 256 do not), and what another core has written, the copies of
// operands above all, comes from that core's cache.
#pragma once

#include "autosched/cpu/passes/loops/interchange_outputs.hpp"
#include "autosched/cpu/tile/choose_tile.hpp"
#include "autosched/decisions/choices.hpp"
#include "autosched/machine/cpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// With the loop over the lanes' axis in front of the rows' one, of a kernel's root that steps over
/// tiles of these two and has no tasks yet, where tasks of columns take clearly less time. The
/// kernels of its operands have their tasks. As it is for stages that are no matrix products, and
/// where the rows' operand does not stay in L2 while columns pass.
OrderedResults order_product(Program program, size_t stage, const TileChoice& tile,
                             const CpuMachine& machine, Choices& choices);

}  // namespace adjit::sched
