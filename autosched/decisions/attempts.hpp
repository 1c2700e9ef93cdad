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

  /// Runs step(program); whether it did. Where it raises ErrorCode::Schedule, the program is what
  /// it was, with a note that `what` (the step, a stage) was refused, and why.
  template <class Step>
  bool operator()(Program& program, const std::string& what, Step&& step) {
    if (!cautious_) {
      step(program);
      return true;
    }
    Program before = program;
    try {
      if (made_++ == refused_) throw Error(ErrorCode::Schedule, "refused for a test");
      step(program);
      return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Schedule) throw;
      program = std::move(before);
      program.fallbacks.push_back(what + ": " + error.what());
      return false;
    }
  }

  /// Whether a step may be refused.
  bool cautious() const { return cautious_; }
  /// How many steps were tried with caution.
  size_t made() const { return made_; }

 private:
  bool cautious_ = false;
  size_t made_ = 0, refused_ = SIZE_MAX;
};

}  // namespace adjit::sched
