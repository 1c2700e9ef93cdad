// autosched/cpu/passes/loops/balance.hpp -- parts of a contraction's rows that all cores finish
// together.
//
// A register tile of 12 rows is the fastest one, but 32 rows make three tasks of it: with two
// cores, one takes 24 rows while the other takes 8. Tiles of 8 rows take a little longer a row, and
// each core takes 16.
#pragma once

#include <optional>

#include "autosched/cpu/tile/choose_tile.hpp"
#include "autosched/machine/cpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

struct EvenParts {
  TileChoice tile;     // the given one with other rows
  int64_t points = 0;  // of the first axis, in a task; a multiple of the tile's rows
};

/// The tile's rows and the tasks' points of a stage's first axis for which the core with the most
/// to do is done first; nullopt where the tile as it is, a row of tiles a task, is about as good.
std::optional<EvenParts> even_parts(const Program& program, size_t stage, const TileChoice& tile,
                                    const CpuMachine& machine);

}  // namespace adjit::sched
