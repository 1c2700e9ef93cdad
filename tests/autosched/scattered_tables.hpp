// tests/autosched/scattered_tables.hpp -- scatters into rows of a table, and indices spread over
// these in every way.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {

inline Graph table(int64_t points, int64_t rows, const std::string& how = "+=[drop]",
                   const std::string& start = "") {
  const std::string p = std::to_string(points), r = std::to_string(rows);
  return parse_graph("def f(float(" + p + ", 3) g, int64(" + p + ") n, float(" + r +
                     ", 3) d0) -> (d) {\n  scatter float(" + r + ", 3) d(n(p), c) " + how +
                     " g(p, c)" + start + " where p in 0:" + p + ", c in 0:3\n}");
}

inline Program inverted(const Graph& graph, int64_t chunk, int64_t piece = 0) {
  const Program p = plain(graph);
  return invert(p, scatter_in(p), chunk, piece);
}

inline void expect_same_bits(const std::vector<Array>& expected, const std::vector<Array>& actual) {
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t k = 0; k < expected.size(); ++k) EXPECT_EQ(expected[k].bytes, actual[k].bytes);
}

enum class Spread { AllEqual, AllDistinct, Zipf, OutOfRange, Any };

// Floats that sums round, and rows as they are spread.
inline std::vector<Array> inputs_of(const Graph& graph, int64_t rows, Spread spread) {
  std::mt19937 random(5);
  std::vector<Array> inputs = some_inputs(graph);
  for (Array& array : inputs)
    for (int64_t k = 0; k < array.element_count(); ++k) {
      if (is_float(array.dtype)) {
        array.set(k, static_cast<double>(random() % 100'000) / 7e3 - 5);
        continue;
      }
      switch (spread) {
        case Spread::AllEqual: array.set(k, static_cast<double>(rows / 2)); break;
        case Spread::AllDistinct: array.set(k, static_cast<double>((k * 7 + 3) % rows)); break;
        case Spread::Zipf:
          array.set(k, static_cast<double>(rows / (1 + static_cast<int64_t>(random()) % rows) - 1));
          break;
        case Spread::OutOfRange: array.set(k, k % 2 == 0 ? -1.0 : static_cast<double>(rows)); break;
        case Spread::Any:
          array.set(k, static_cast<double>(random() % static_cast<uint32_t>(rows + 4)) - 2);
          break;
      }
    }
  return inputs;
}

inline constexpr Spread kSpreads[] = {Spread::AllEqual, Spread::AllDistinct, Spread::Zipf,
                                      Spread::OutOfRange, Spread::Any};

}  // namespace adjit::sched
