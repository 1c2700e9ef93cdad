// autosched/decisions/attempts.hpp -- steps of the default schedule that a move may refuse.
//
// The default schedule decides, and moves check. Where a decision turns out to be illegal, the
// schedule is made again with caution: each step is tried on a copy, and one that is refused is
// left out, down to the plain loops that a program starts with, which are always legal. What was
// left out is noted in Program::fallbacks. A schedule that the user gives gets no such help.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "autosched/program/program.hpp"

namespace adjit::sched {

class Attempts {
 public:
  /// Without caution: what a step raises, the caller gets.
  Attempts() = default;
  /// With caution; `refused`: the number of a step that is refused whatever it does, for tests.
  static Attempts with_caution(size_t refused = SIZE_MAX) {
    Attempts made;
    made.cautious_ = true;
    made.refused_ = refused;
    return made;
  }

  /// Runs step(state); where that raises ErrorCode::Schedule, `state` is what it was, with a note
  /// in its program: that `what` (the step, a stage) was refused, and why.
  template <class State, class Step>
  void operator()(State& state, const std::string& what, Step&& step) {
    if (!cautious_) {
      step(state);
      return;
    }
    State before = state;
    try {
      if (made_++ == refused_) throw Error(ErrorCode::Schedule, "refused for a test");
      step(state);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Schedule) throw;
      state = std::move(before);
      program_of(state).fallbacks.push_back(what + ": " + error.what());
    }
  }

  /// How many steps were tried with caution.
  size_t made() const { return made_; }

 private:
  static Program& program_of(Program& program) { return program; }
  template <class Prepared>
  static Program& program_of(Prepared& prepared) {
    return prepared.program;
  }

  bool cautious_ = false;
  size_t made_ = 0, refused_ = SIZE_MAX;
};

}  // namespace adjit::sched
