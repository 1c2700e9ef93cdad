// autosched/cpu/passes/memory/nontemporal.hpp -- which results go to memory past the caches.
#pragma once

#include "autosched/decisions/choices.hpp"
#include "autosched/machine/cpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Streams large results that nothing in the program reads, of a program whose tensors the last
/// cache does not hold: a stored line is then neither fetched first, nor does it drive out what is
/// read. Only nests that write whole lines, a few at a time, in order. To be done last, when tiles
/// and attachments stand.
Program stream_results(Program program, const CpuMachine& machine, Choices& choices);

}  // namespace adjit::sched
