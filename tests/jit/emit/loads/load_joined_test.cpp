// tests/jit/emit/loads/load_joined_test.cpp -- joins: the right element of the right tensor, in
// every lane, by a number of loads that does not grow with the parts.
#include <gtest/gtest.h>

#include "autosched/lower/initial_program.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/joins.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

std::vector<Array> numbers(const Graph& graph) {
  std::vector<Array> inputs;
  for (TensorId id : graph.inputs) {
    Array x = Array::zeros(graph.info(id).dtype, graph.info(id).shape);
    for (int64_t e = 0; e < x.element_count(); ++e)
      x.set(e, x.dtype == DType::Bool ? static_cast<double>((e + id.value) % 3 == 0)
                                      : static_cast<double>((e * 7 + 31 * id.value) % 101));
    inputs.push_back(std::move(x));
  }
  return inputs;
}

std::vector<Program> schedules(const Graph& graph) {
  std::vector<Program> all;
  const auto plain = [&] { return initial_program(graph, CpuMachine{1, 512}); };
  all.push_back(plain());
  for (size_t axis : {0u, 1u}) {
    all.push_back(vectorize(plain(), 0, axis, 8));
    all.push_back(unroll(plain(), 0, axis, 3));
    all.push_back(unroll(vectorize(plain(), 0, axis, 4), 0, 1 - axis, 2));
    all.push_back(parallel(plain(), 0, 1));
  }
  return all;
}

class LoadJoined : public ::testing::TestWithParam<const char*> {};

TEST_P(LoadJoined, TakesEveryElementFromItsPart) {
  for (const std::vector<int64_t>& widths :
       {std::vector<int64_t>(9, 4), std::vector<int64_t>(21, 1),
        std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
        std::vector<int64_t>{3, 3, 3, 3, 3, 3, 3, 2},
        std::vector<int64_t>{20, 1, 1, 1, 1, 1, 1, 1, 17}})
    for (size_t axis : {0u, 1u})
      for (int64_t other : {5, 8, 13}) {
        const Graph graph = parse_graph(join_text(widths, axis, other, GetParam()));
        for (const Program& program : schedules(graph))
          ASSERT_EQ(check_emitted(program, numbers(graph)), "") << print(graph) << print(program);
      }
}

INSTANTIATE_TEST_SUITE_P(EveryDType, LoadJoined,
                         ::testing::Values("float", "double", "half", "bfloat16", "int64", "uint8",
                                           "bool"));

TEST(LoadJoinedCode, DoesNotGrowWithTheParts) {
  for (size_t axis : {0u, 1u})
    for (size_t lanes_along : {0u, 1u}) {
      const auto ir = [&](size_t parts, int64_t width) {
        const Graph graph = parse_graph(join_text(std::vector<int64_t>(parts, width), axis, 32));
        return EmittedProgram(
                   vectorize(initial_program(graph, CpuMachine{1, 512}), 0, lanes_along, 8))
            .ir();
      };
      const std::string few = ir(8, 2), many = ir(64, 2);
      for (const char* part : {"load float", "load <8 x float>", "gather", "select", "icmp"})
        EXPECT_LE(occurrences(many, part), occurrences(few, part) + 2) << part << many;
    }
}

// Parts that differ by constants only: x[0], x[1], ... of one tensor.
TEST(LoadJoinedCode, TakesPlacesOfOneTensor) {
  std::string body = "x(9, j)", closing;
  for (int k = 9; k-- > 0;)
    body = "select(i < " + std::to_string(k + 1) + ", x(" + std::to_string((k * 7) % 10) +
           ", j), " + body + ")";
  const Graph graph = parse_graph("def f(float(10, 12) x) -> (y) { y(i, j) = " + body +
                                  " where i in 0:10, j in 0:12 }");
  for (const Program& program : schedules(graph))
    EXPECT_EQ(check_emitted(program, numbers(graph)), "") << print(program);
}

// From the end: position > 37, > 34, ...
TEST(LoadJoinedCode, TakesFallingPositions) {
  std::string body = "x0(j, i where i < 3)";
  for (int k = 1; k < 12; ++k) {
    const std::string from = std::to_string(3 * k);
    body = "select(" + std::to_string(3 * k - 1) + " < i, x" + std::to_string(k) + "(j, i - " +
           from + " where " + from + " <= i && i < " + std::to_string(3 * k + 3) + "), " + body +
           ")";
  }
  std::string inputs;
  for (int k = 0; k < 12; ++k)
    inputs += (k ? ", float(5, 3) x" : "float(5, 3) x") + std::to_string(k);
  const Graph graph = parse_graph("def f(" + inputs + ") -> (y) { y(i, j) = " + body +
                                  " where i in 0:36, j in 0:5 }");
  for (const Program& program : schedules(graph)) {
    EXPECT_EQ(check_emitted(program, numbers(graph)), "") << print(program);
    EXPECT_LT(occurrences(EmittedProgram(program).ir(), "select"), 8u);
  }
}

// The parts' rows are stored, for the caller, by nests inside the join's loop, and read behind
// them.
TEST(LoadJoinedCode, WaitsForPartsOfTheSameKernel) {
  // sqrt has no select in its code on any processor, as exp has.
  std::string text = join_text(std::vector<int64_t>(9, 5), 1, 6, "float", "sqrt");
  std::string outputs = "-> (y";
  for (int k = 0; k < 9; ++k) outputs += ", fx" + std::to_string(k);
  text.replace(text.find("-> (y"), 5, outputs);
  const Graph graph = parse_graph(text);
  Program program = initial_program(graph, CpuMachine{1, 512});
  for (size_t k = 0; k < 9; ++k) program = compute_at(std::move(program), k, 9, 1);
  ASSERT_EQ(program.kernels.size(), 1u);
  EXPECT_LT(occurrences(EmittedProgram(program).ir(), "select"), 8u) << "a join";
  EXPECT_EQ(check_emitted(program, numbers(graph)), "");
}

// A part that is shorter than its piece would be read out of bounds: the selects stay.
TEST(LoadJoinedCode, LeavesWhatAPredicateDecides) {
  std::string text = join_text(std::vector<int64_t>(10, 4), 0, 8);
  const std::string old = "where 8 <= i && i < 12";
  text.replace(text.find(old), old.size(), "where 9 <= i && i < 11");
  const Graph graph = parse_graph(text);
  for (const Program& program : schedules(graph))
    EXPECT_EQ(check_emitted(program, numbers(graph)), "") << print(program);
}

}  // namespace
}  // namespace adjit::testing
