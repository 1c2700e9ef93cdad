// autosched/cpu/passes/loops/outer_reduction.hpp -- sums of products in passes over all their
// results.
//
// A tile's accumulators stay in registers while the whole reduction runs, so every tile of results
// walks its operands from end to end. Where these leave L2, each tile fetches them
// again from L3: a convolution's weight gradient walks all images for every tap. With the
// loop over the images outside, one image's part stays close for all taps and channels, and the
// accumulators are stored and loaded again once an image.
#pragma once

#include "autosched/decisions/choices.hpp"
#include "autosched/machine/cpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Brings outer reduction loops of a kernel's root outside its tasks' output loops where that
/// spares more cycles of L3 than storing and loading partial results takes. Terms are
/// added in the same order; lanes along the reduction are folded in every pass.
Program sum_in_passes(Program program, size_t stage, const CpuMachine& machine, Choices& choices);

/// The same for L1, further in: the outermost of several reduction loops above the
/// tile, or strips of its steps, goes outside loops over results (a convolution's taps), which then
/// walk lines that are near. Counts what L2 and L3 give, and what storing and
/// loading partial results takes.
Program sum_in_strips(Program program, size_t stage, const CpuMachine& machine, Choices& choices);

}  // namespace adjit::sched
