// tests/fuzz/check.hpp -- whether a program's compiled value and derivatives are right.
//
// Three kinds of evidence, none of which shares code with what it judges:
//  - compiled values and derivatives against the traced graph, or the derivative as it is derived
//    before any clean-up, run in higher precision with error bounds (wide_interpreter.hpp);
//  - the reference interpreter against the same;
//  - derivatives of both orders and modes against differences of the computation, and of its
//    gradient, in higher precision along random directions. Points whose neighbours lie on another
//    piece of the function (decisions of the run say so) have no derivative and are left out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jit/engine/engine.hpp"
#include "tests/fuzz/draw/program_draw.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// Engines that programs take turns with: threads, instruction sets, subnormal numbers.
class FuzzEngines {
 public:
  FuzzEngines();
  Engine& of(uint64_t seed) { return *engines_[seed % engines_.size()]; }

 private:
  std::vector<std::unique_ptr<Engine>> engines_;
};

/// What a run of many programs has seen.
struct FuzzCounts {
  int64_t programs = 0, stages = 0, derivatives = 0;
  int64_t compiled = 0, scheduled = 0;  // computations
  int64_t judged = 0, unsure = 0;       // elements; unsure: rounding may make them anything
  // Derivatives that agree with differences, and that have none: at a kink of the function, or
  // where differences of all steps lie far apart.
  int64_t differences = 0, kinks = 0, unsettled = 0;
  double draw_s = 0, wide_s = 0, schedule_s = 0, literal_s = 0, compile_s = 0;
  std::string text() const;
};

/// "" where all is right; else what is wrong, beginning with a word for where ("gradient: ...").
/// `seed` draws cotangents, directions, layouts and the engine. Of the computations that a program
/// and its derivatives are, so many in a hundred are compiled, the rest scheduled, and their loop
/// nests run literally: that takes a tenth of the time, and sees all but code generation.
std::string check_program(const FuzzProgram& program, uint64_t seed, FuzzEngines& engines,
                          FuzzCounts& counts, int compiled_percent = 100);

}  // namespace adjit::testing
