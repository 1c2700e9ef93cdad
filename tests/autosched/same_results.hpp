// tests/autosched/same_results.hpp -- whether a program, run literally, gives what its graph means.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "autosched/analysis/verify.hpp"
#include "autosched/program/program.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/program_interpreter.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {

/// ADJIT_FUZZ_CASES asks for another number.
inline uint64_t fuzz_cases(uint64_t usual) {
  const char* text = std::getenv("ADJIT_FUZZ_CASES");
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

/// Ill-conditioned float values (that double arithmetic gives otherwise) do not count, nor where a
/// product in another order leaves the range of floats on the way.
inline void expect_same_results(const Graph& graph, const Program& program, uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + print(graph) + print(program) +
               program.moves_json);
  ASSERT_NO_THROW(verify(program));
  const std::vector<Array> inputs = small_inputs(graph, seed);
  const std::vector<Array> exact = interpret(graph, inputs);
  const std::vector<Array> wide = interpret_in_double(graph, inputs);
  const bool multiplies = std::ranges::any_of(graph.stages, [](const Stage& stage) {
    return stage.combiner.kind == CombinerKind::Product;
  });
  std::vector<Array> actual;
  ASSERT_NO_THROW(actual = interpret(program, inputs));
  for (size_t k = 0; k < exact.size(); ++k)
    for (int64_t i = 0; i < exact[k].element_count(); ++i) {
      const double a = exact[k].at(i), b = actual[k].at(i), w = wide[k].at(i);
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      if (multiplies && is_float(exact[k].dtype) && !std::isfinite(b)) continue;
      const double scale = std::max({1.0, std::abs(a), std::abs(w)});
      if (!(std::abs(a - w) < 1e-4 * scale)) continue;
      ASSERT_TRUE(is_float(exact[k].dtype) && std::abs(a - b) < 2e-4 * scale)
          << "output " << k << ", element " << i << ": " << a << " against " << b;
    }
}

}  // namespace adjit::testing
