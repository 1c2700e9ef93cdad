// tests/autosched/moves/move_examples.hpp -- an example of every move: what docs/moves.md shows.
#pragma once

#include <span>
#include <string_view>

#include "autosched/machine/cpu_machine.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

struct MoveExample {
  std::string_view graph;   // in text notation
  std::string_view before;  // moves that lead to it, a list in JSON
  std::string_view move;    // in JSON; its "move" says which row of move_table() this is
};

/// In the order of move_table(). The programs are for two cores and vectors of 256 bits.
std::span<const MoveExample> move_examples();
inline constexpr CpuMachine kExampleMachine{.cores = 2, .vector_bits = 256};

}  // namespace adjit::testing
