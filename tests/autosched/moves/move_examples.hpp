// tests/autosched/moves/move_examples.hpp -- an example of every move: what docs/moves.md shows.
#pragma once

#include <span>
#include <string_view>

#include "autosched/machine/target.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

struct MoveExample {
  std::string_view graph;   // in text notation
  std::string_view before;  // moves that lead to it, a list in JSON
  std::string_view move;    // in JSON; its "move" says which row of move_table() this is
  bool on_gpu = false;
};

/// In the order of move_table().
std::span<const MoveExample> move_examples();
/// Two cores with vectors of 256 bits, or a GPU.
inline Target target_of(const MoveExample& example) {
  return example.on_gpu ? Target(GpuMachine()) : CpuMachine{.cores = 2, .vector_bits = 256};
}

}  // namespace adjit::testing
