// autosched/gpu/loops/register_tile.hpp -- kernels whose threads compute several results each.
//
// A result that is read for by itself reads what its neighbours read again: a window of an image,
// the other points of a sum over pairs, a column of what lies in rows. A thread that computes some
// neighbours reads that once, and computes once what they have in common. How many, along which
// axes, whether short reductions are written out, and how many threads of a block add up a result
// together: what the model of costs likes best.
#pragma once

#include <cstddef>
#include <optional>

#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Gives the plain nest of a kernel's root, to which nothing is attached, loops with a register
/// tile, if these are predicted to be faster than those of `usual`, the same program with the loops
/// that the kernel has otherwise; nullopt: they are not, or the kernel waits for its memory, or for
/// little more than a launch.
std::optional<Program> with_register_tile(const Program& plain, size_t root, const Program& usual,
                                          const GpuMachine& machine);

/// Computes a reduction of few terms in the loops of the stage `reader` that alone reads it
/// (pointwise_reader.hpp), a register tile of it at a time, so that no memory holds it; if that is
/// predicted to be faster than `apart`, the same program with loops for both. nullopt: it is not,
/// or the reduction is of other kinds.
std::optional<Program> with_sum_in_registers(const Program& plain, size_t sum, size_t reader,
                                             const Program& apart, const GpuMachine& machine);

}  // namespace adjit::sched
