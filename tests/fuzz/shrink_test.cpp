// tests/fuzz/shrink_test.cpp -- shrinking keeps what fails and drops the rest.
#include "tests/fuzz/shrink.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

bool has_scatter(const FuzzProgram& program) {
  return std::ranges::any_of(program.graph.stages,
                             [](const Stage& s) { return s.kind == StageKind::Scatter; });
}

TEST(Shrink, KeepsTheStageThatFails) {
  int shrunk_ones = 0;
  for (uint64_t seed = 1; seed < 12; ++seed) {
    const FuzzProgram program = random_program(seed);
    if (!has_scatter(program)) continue;
    const FuzzProgram small = shrunk(program, has_scatter);
    EXPECT_EQ(small.graph.stages.size(), 1u) << print(small.graph);
    EXPECT_EQ(small.inputs.size(), small.graph.inputs.size());
    EXPECT_NO_THROW(interpret(small.graph, small.inputs));
    ++shrunk_ones;
  }
  EXPECT_GT(shrunk_ones, 2);
}

TEST(Shrink, StopsWhenItsTimeIsOver) {
  int tries = 0;
  const FuzzProgram small =
      shrunk(random_program(1), [&](const FuzzProgram&) { return ++tries > 0; }, 0);
  EXPECT_EQ(tries, 0);
  EXPECT_NO_THROW(interpret(small.graph, small.inputs));
}

TEST(Shrink, TheTestHoldsTheProgramAndItsValues) {
  const Graph graph =
      parse_graph("def f(double(2) x) -> (y) { y(i) = x(i) * x(i) where i in 0:2 }");
  const double values[] = {0.5, -2};
  const std::string text = test_of({graph, {Array::of(DType::Float64, {2}, values)}}, 7, "value");
  EXPECT_NE(text.find("TEST(Found, Seed7)"), std::string::npos);
  EXPECT_NE(text.find(print(graph)), std::string::npos);
  EXPECT_NE(text.find("Values{0.5, -2}"), std::string::npos);
}

}  // namespace
}  // namespace adjit::testing
