// tests/jit/emit/block_programs.hpp -- programs whose tasks are run by blocks of threads, and what
// they must give.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "autosched/analysis/verify.hpp"
#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/jit/emit/emulated_program.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {

inline Program program_of(const std::string& text) {
  return initial_program(parse_graph(text), GpuMachine{});
}

/// In whatever order threads run, and the same bits each time.
inline void expect_right_in_blocks(const Program& program, double tolerance = 1e-5) {
  SCOPED_TRACE(print(program));
  ASSERT_NO_THROW(verify(program));
  if (!kEmulates) return;
  const std::vector<Array> inputs = small_inputs(program.graph, 3);
  // A graph does not say what runs on.
  const std::vector<Array> expected =
      program.graph.running.empty() ? interpret(program.graph, inputs) : interpret(program, inputs);
  for (const int64_t alignment : {0, 16}) {
    const EmulatedProgram emulated(program, alignment);
    std::vector<Array> first;
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      std::vector<Array> results;
      ASSERT_NO_THROW(results = emulated(inputs, seed));
      EXPECT_EQ(difference(expected, results, tolerance), "") << seed;
      if (seed == 1) first = results;
      for (size_t k = 0; k < first.size(); ++k)
        EXPECT_EQ(first[k].bytes, results[k].bytes) << "bits differ from run to run";
    }
  }
}

/// Barriers in the code.
inline size_t waits(const Program& program) {
  return occurrences(EmulatedProgram(program).ptx(), "bar.sync");
}

inline constexpr const char* kRowSum =
    "def main(float(6, 300) x) -> (s) { s(i) +=! x(i, r) where i in 0:6, r in 0:300 }";

}  // namespace adjit::testing
