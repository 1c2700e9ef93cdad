// tests/jit/emit/scatter_test.cpp -- points that write where data says: one by one, in lanes that
// write apart, and in lanes that may write one element and take turns.
#include <gtest/gtest.h>

#include <random>

#include "autosched/moves.hpp"
#include "runtime/graph/text.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

// The stage that scatters.
size_t scatter_of(const Program& program) {
  for (size_t s = 0; s < program.graph.stages.size(); ++s)
    if (program.graph.stages[s].kind == StageKind::Scatter) return s;
  return SIZE_MAX;
}

// Indices from -3 to 9: some out of range, many twice within 16.
std::vector<Array> inputs_of(const Graph& graph) {
  std::vector<Array> inputs = small_inputs(graph, 3);
  std::mt19937 random(7);
  for (Array& array : inputs)
    if (array.dtype == DType::Int64)
      for (int64_t k = 0; k < array.element_count(); ++k)
        array.set(k, static_cast<double>(random() % 13) - 3);
  return inputs;
}

std::string checked_scatter(const Program& program) {
  EXPECT_EQ(check_emitted(program, inputs_of(program.graph)), "") << print(program);
  return EmittedProgram(program).ir(program.kernels.size() - 1);
}

Program histogram(const std::string& how, const std::string& target = "I(i)") {
  return initial_program(
      parse_graph("def main(int64(37) I, float(37) x) -> (h) { scatter float(7) h(" + target +
                  ") " + how + " x(i) * 2.0 }"),
      1, 512);
}

TEST(EmittedScatter, LanesThatMeetTakeTurns) {
  for (const char* how : {"+=![drop]", "=[drop]", "max=![drop]", "*=![drop]", "+=![clip]",
                          "=[clip]", "min=![wrap]", "=[wrap]"}) {
    const Program plain = histogram(how);
    checked_scatter(plain);
    const size_t s = scatter_of(plain);
    for (int64_t lanes : {4, 16}) {
      const std::string ir = checked_scatter(vectorize(plain, s, 0, lanes));
      EXPECT_EQ(occurrences(ir, "masked.scatter"), 0u) << how;
      checked_scatter(unroll(vectorize(plain, s, 0, lanes), s, 0, 2));
    }
  }
}

TEST(EmittedScatter, NoLaneIsAskedWhereTheTargetIsProven) {
  const Program proven = vectorize(histogram("+=!", "max(min(I(i), 6), 0)"),
                                   scatter_of(histogram("+=!", "i % 7")), 0, 16);
  const std::string ir = checked_scatter(proven);
  EXPECT_EQ(occurrences(ir, "load float, ptr"), 16u + 5u) << "whole lanes, and the tail's 37 - 32";
  EXPECT_EQ(occurrences(ir, "icmp sge <16 x i64>"), 0u);
}

TEST(EmittedScatter, LanesThatWriteApartWriteAtOnce) {
  const Program program = initial_program(
      parse_graph("def main(int64(9) I, float(9, 21) x) -> (h) { scatter float(7, 21) h(I(i), j) "
                  "+=![drop] x(i, j) }"),
      1, 512);
  const std::string ir = checked_scatter(vectorize(program, scatter_of(program), 1, 8));
  EXPECT_GT(occurrences(ir, "store <8 x float>"), 0u);
}

}  // namespace
}  // namespace adjit::testing
