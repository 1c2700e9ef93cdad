// autosched/moves/record/record.hpp -- what every move does: refuse with a reason, or append itself
// to the program's history.
#pragma once

#include <string>

#include "autosched/program/nests.hpp"
#include "autosched/program/program.hpp"
#include "runtime/process/json.hpp"

namespace adjit::sched {

/// One move under way.
struct Move {
  const char* name;
  Program& program;
  size_t stage;

  /// ErrorCode::Schedule: "tile of 'C': <reason>".
  [[noreturn]] void refuse(const std::string& reason) const;
  void require(bool legal, const char* reason) const {
    if (!legal) refuse(reason);
  }
  const Stage& stage_ref() const { return program.graph.stages[stage]; }
  /// The stage's nest; refuses when the stage is not in the program.
  NestPath path() const;
  /// The kernel of which the stage is all: it is attached to none, and none to it. Refuses any
  /// other for this reason; what rewrites a stage would drop what is attached.
  size_t own_kernel(const char* reason) const;
  /// Refuses a stage that is not a kernel by itself with the plain loops that it begins with, for
  /// this reason.
  void require_plain_loops(const char* reason) const;
  /// Refuses a kernel whose thread loops are not as they may be (threads.hpp).
  void require_threads(const Kernel& kernel) const;
  /// split_loop() of a nest that has not too many loops.
  void split(Nest& nest, uint32_t& variable_count, size_t l, int64_t step) const;
  /// Appends {"move": name, "stage": ..., arguments...}.
  void record(const Json& arguments) const;
};

/// Starts a move: checks that the stage exists.
Move begin_move(const char* name, Program& program, size_t stage);
/// Appends one entry to moves_json.
void append_move(Program& program, const Json& entry);

}  // namespace adjit::sched
