// tests/jit/emit/loads/load_windows_test.cpp -- lanes that few vectors hold: loads and shuffles.
#include "jit/emit/loads/load_windows.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// How many gathers a stage takes whose last axis is in 8 lanes.
size_t gathers_of(const std::string& text) {
  const Graph graph = parse_graph(text);
  const size_t axes = graph.stages[0].domain.output_rank;
  return gathers(checked_ir(vectorize(plain(graph, 1), 0, axes - 1, 8)));
}

// Short strides, divided lanes, lanes from two places: vectors and shuffles, whatever the type, the
// tail and the conditions.
TEST(LoadWindows, LanesOfAFewVectorsAreShuffled) {
  const std::pair<std::string, std::string> kReads[] = {
      {"x(i, 2 * j)", ""},
      {"x(i, 41 - 2 * j)", ""},
      {"x(i, j // 2)", ""},
      {"x(i, j % 2 * 20 + j // 2)", ""},
      {"x(i, 20 - j // 2)", ""},
      {"x(i, j // 2 + j % 2)", ""},
      {"x(i, 2 * j - 1 where 2 * j >= 1)", ""},
      {"x(i, j // 2 - 3 where j // 2 >= 3)", ""},
      {"x(i, 2 * j - 1)", ", 2 * j >= 1"},
      {"x(i, j // 2 - 3)", ", j // 2 >= 3, i + j <= 17"},
  };
  for (const char* dtype : {"float", "double", "half", "bfloat16", "int8", "int64", "bool"})
    for (const auto& [read, rows] : kReads)
      for (const char* extent : {"16", "21"}) {
        const std::string how = rows.empty()                   ? " = "
                                : std::string(dtype) == "bool" ? " any=! "
                                                               : " +=! ";
        const std::string text = "def main(" + std::string(dtype) + "(3, 42) x) -> (y) { y(i, j)" +
                                 how + read + " where i in 0:3, j in 0:" + extent + rows + " }";
        EXPECT_EQ(gathers_of(text), 0u) << text;
      }
}

TEST(LoadWindows, DividedLanesThatStartAnywhereAreGathered) {
  EXPECT_EQ(gathers_of("def main(float(9) x) -> (y) { y(i, j) = x(j // 3) where i in 0:2, j in "
                       "0:24 }"),
            1u);
}

}  // namespace
}  // namespace adjit::testing
