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
#include "tests/fuzz/counts.hpp"
#include "tests/fuzz/draw/program_draw.hpp"
#include "tests/fuzz/engines.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// Percent of the computations that a program and its derivatives are.
struct FuzzShares {
  /// Compiled; the rest is scheduled, and its loop nests run literally: that takes a tenth of the
  /// time, and sees all but code generation.
  int compiled_percent = 100;
  int gpu_percent = 0;  // of those, for a GPU
};

/// "" where all is right; else what is wrong, beginning with a word for where ("gradient: ...").
/// `seed` draws cotangents, directions, layouts and the engine.
std::string check_program(const FuzzProgram& program, uint64_t seed, FuzzEngines& engines,
                          FuzzCounts& counts, const FuzzShares& shares = {});

}  // namespace adjit::testing
