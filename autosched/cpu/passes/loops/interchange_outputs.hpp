// autosched/cpu/passes/loops/interchange_outputs.hpp -- the order in which a kernel's tiles of
// results are computed.
//
// A tile's operands leave the caches with what lies between two tiles that read the same: with the
// channels of a convolution outermost, every tile of channels walks the whole image again. With the
// channels inside the image's rows, one row stays close for all of them.
#pragma once

#include "autosched/decisions/choices.hpp"
#include "autosched/machine/cpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

struct OrderedResults {
  Program program;
  bool moved = false;  // whether any loop was: no later step should move them again
};

/// Orders the serial loops over results outside the register tile of a kernel's root, before tasks
/// are made of them, where that spares enough of the cycles in which lines come from
/// L3 and from memory. As it is where something is attached to the nest, and for stages that are
/// no sums of products.
OrderedResults order_results(Program program, size_t stage, const CpuMachine& machine,
                             Choices& choices);

}  // namespace adjit::sched
