// autosched/cpu/passes/memory/prefetch.hpp -- which rows are fetched before their turn.
#pragma once

#include "autosched/decisions/choices.hpp"
#include "autosched/machine/cpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Where a loop's iteration takes a row of a large tensor through several passes (a maximum, sums,
/// the result), the one that computes most meanwhile fetches the next iteration's row: the others
/// read faster than memory gives, and between rows memory would have nothing to do. To be done when
/// tiles, tasks and attachments stand.
Program fetch_rows(Program program, const CpuMachine& machine, Choices& choices);

}  // namespace adjit::sched
