// autosched/gpu/loops/register_tile.hpp -- kernels whose threads compute several results each.
//
// A result that is read for by itself reads what its neighbours read again: a window of an image,
// the other points of a sum over pairs, a column of what lies in rows. A thread that computes some
// neighbours reads that once, and computes once what they have in common. How many, along which
// axes, whether short reductions are written out, and how many threads of a block add up a result
// together: what the model of costs likes best.
#pragma once

#include <optional>

#include "autosched/gpu/loops/tile_shape.hpp"
#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// The tile of a stage that is all of a program, with a plain nest (part_of_program.hpp), if it is
/// predicted to be faster than `usual`, the same program with the loops that it has otherwise.
/// nullopt: it is not, or the kernel waits for its memory, or takes little more than a launch.
/// `from_memory`: leaves_l2 of the program that it is a part of.
std::optional<TileShape> register_tile(const Program& part, const Program& usual,
                                       const GpuMachine& machine, bool from_memory);

/// Whether a reduction has so few terms, and some axis of results, that its reader may compute it.
bool has_few_terms(const Stage& sum);
/// That of such a reduction, the first of two stages, which is computed in the loops of the
/// second one: that alone reads it (pointwise_reader.hpp), and no memory holds it. nullopt: two
/// kernels, which take `apart` microseconds, are predicted to be as fast.
std::optional<TileShape> sum_tile(const Program& part, double apart, const GpuMachine& machine,
                                  bool from_memory);

}  // namespace adjit::sched
