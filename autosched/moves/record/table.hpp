// autosched/moves/record/table.hpp -- the moves: a row each.
//
// Replaying a schedule looks moves up here, and docs/moves.md is made of it.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "autosched/moves/record/entry.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

struct MoveRow {
  std::string_view name;
  std::string_view old_name;          // up to 0.1.0, and read for one version; "": the same
  std::string_view what;              // what it does, in a sentence or two, for people
  std::array<MoveMember, 8> members;  // besides "move"; empty behind the last
  void (*apply)(Program&, const MoveEntry&);
};

std::span<const MoveRow> move_table();

/// The program that these moves make of the graph, not verified. `where` stands before the position
/// of a move in messages.
Program replay_moves(const Graph& graph, const Json& moves, const Target& target,
                     const std::string& where);

}  // namespace adjit::sched
