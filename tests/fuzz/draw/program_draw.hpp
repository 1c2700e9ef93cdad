// tests/fuzz/draw/program_draw.hpp -- random programs: traced graphs with inputs.
//
// A program is 20 to 60 operations: calls of operators (operator_draw.hpp), stages in index
// notation that gather and scatter (notation_draw.hpp), statements of text with open ranges
// (text_draw.hpp), and programs inside: scans, functions to recompute, functions with a gradient of
// their own, conditionals, batches, derivatives, and what went through the text notation and back.
#pragma once

#include <string>
#include <vector>

#include "runtime/graph/graph.hpp"
#include "runtime/graph/interpret/interpreter.hpp"
#include "tests/fuzz/draw/scope.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {

struct ProgramOptions {
  int least_operations = 20, most_operations = 60;
  int64_t points = 30'000;   // of all stages together
  bool while_loops = false;  // programs that have no reverse mode
  TensorKinds kinds{};
};

struct FuzzProgram {
  Graph graph;
  std::vector<Array> inputs;
};

/// Deterministic in the seed. Outputs: some of what nothing else reads, and a sum of all the rest.
FuzzProgram random_program(uint64_t seed, const ProgramOptions& options = {});

}  // namespace adjit::testing
