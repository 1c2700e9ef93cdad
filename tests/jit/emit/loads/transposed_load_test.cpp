// tests/jit/emit/loads/transposed_load_test.cpp -- rows that lie across the lanes, loaded in
// pieces.
#include <gtest/gtest.h>

#include "autosched/lower/initial_program.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

std::string text_of(const char* dtype, int64_t rows, int64_t columns, const char* body) {
  return std::string("def main(") + dtype + "(" + std::to_string(rows) + ", " +
         std::to_string(columns) + ") x) -> (y) { " + body + " }";
}

// y[j, i] from x[i, j], lanes along i, copies along j.
Program copy(const char* dtype, int64_t rows, int64_t columns, int64_t lanes, int64_t copies) {
  const Graph graph = parse_graph(text_of(dtype, rows, columns, "y(j, i) = x(i, j)"));
  Program p = vectorize(initial_program(graph, CpuMachine{2, 512}), 0, 1, lanes);
  return unroll(std::move(p), 0, 0, copies);
}

TEST(TransposedLoad, EveryTypeAndRaggedSizes) {
  for (const char* dtype : {"float", "double", "int32", "int64", "int16", "half", "bfloat16"})
    for (int64_t lanes : {4, 8, 16})
      for (const auto& [rows, columns, copies] :
           {std::tuple{16, 16, 4}, {16, 8, 8}, {13, 9, 4}, {37, 11, 8}, {5, 8, 2}, {3, 5, 5}}) {
        if (rows < lanes && lanes > 4) continue;
        const Program p = copy(dtype, rows, columns, lanes, copies);
        SCOPED_TRACE(std::string(dtype) + " " + print(p));
        EXPECT_EQ(check_emitted(p, small_inputs(p.graph, 7)), "");
      }
}

TEST(TransposedLoad, TakesTheGathersPlace) {
  EXPECT_EQ(gathers(EmittedProgram(copy("float", 32, 32, 16, 4)).ir()), 0u);
  EXPECT_EQ(gathers(EmittedProgram(copy("double", 32, 32, 8, 2)).ir()), 0u);
  EXPECT_EQ(gathers(EmittedProgram(copy("half", 32, 32, 16, 8)).ir()), 0u);
  EXPECT_GT(gathers(EmittedProgram(copy("float", 32, 32, 16, 3)).ir()), 0u)
      << "fewer copies than a piece has elements";
}

// What is read twice is loaded once; other reads and rows of the domain stay right.
TEST(TransposedLoad, BesideOtherReads) {
  for (const char* body :
       {"y(j, i) = x(i, j) * x(i, j) + exp(x(i, 3))", "y(j, i) = x(i, j) - x(i, (j + 1) % 24)",
        "y(j, i) = x(i, 23 - j)", "y(j, i) = j <= i ? x(i, j) : 2.0",
        "y(j, i) +=! x(i, j) * x(r, j) where j in 0:24, i in 0:24, r in 0:24"}) {
    const Graph graph = parse_graph(text_of("float", 24, 24, body));
    Program p = vectorize(initial_program(graph, CpuMachine{2, 512}), 0, 1, 16);
    p = unroll(std::move(p), 0, 0, 4);
    SCOPED_TRACE(body);
    EXPECT_EQ(check_emitted(p, small_inputs(graph, 5)), "");
  }
}

// Three copies of a buffer of our own are a piece of four: there is room behind it.
TEST(TransposedLoad, RowsOfABufferOfOurOwn) {
  const Graph graph = parse_graph(
      "def main(float(5, 32, 11) x) -> (y) { r(i, j, k) = x(i, j, k) * 2.0\n"
      " y(i, c, j) +=! r(i, j, c + 4 * q) where i in 0:5, c in 0:3, j in 0:32, q in 0:3 }");
  Program p = compute_at(initial_program(graph, CpuMachine{1, 512}), 0, 1, 1);
  p = vectorize(std::move(p), 1, 2, 16);
  p = unroll(std::move(p), 1, 1, 3);
  EXPECT_EQ(check_emitted(p, small_inputs(graph, 7)), "") << print(p);
  EXPECT_EQ(gathers(EmittedProgram(p).ir()), 0u);
}

// Copies of the reduction, in blocks whose ends are ragged.
TEST(TransposedLoad, InstancesOfAReduction) {
  for (int64_t columns : {8, 37, 40}) {
    const Graph graph = parse_graph(text_of("float", 21, columns, "y(i) +=! x(i, r)"));
    for (int64_t copies : {4, 6, 8}) {
      Program p = vectorize(initial_program(graph, CpuMachine{2, 512}), 0, 0, 8);
      p = unroll(std::move(p), 0, 1, copies);
      EXPECT_EQ(check_emitted(p, small_inputs(graph, 5)), "") << print(p);
    }
  }
}

// Rows that data names: y[i] = sum over c of x[I[i], c] w[c, i], lanes along i, copies along c.
Program sampled(const char* dtype, int64_t rows, int64_t channels, int64_t points,
                const std::string& index, int64_t lanes, int64_t copies) {
  const std::string type(dtype), n = std::to_string(points), c = std::to_string(channels);
  const Graph graph =
      parse_graph("def main(" + type + "(" + std::to_string(rows) + ", " + c + ") x, " + type +
                  "(" + c + ", " + n + ") w, int64(" + n + ") I) -> (y) { y(i) +=! x(" + index +
                  ", r) * w(r, i) where i in 0:" + n + ", r in 0:" + c + " }");
  Program p = vectorize(initial_program(graph, CpuMachine{2, 512}), 0, 0, lanes);
  return unroll(std::move(p), 0, 1, copies);
}

std::vector<Array> named(const Graph& graph) {
  std::vector<Array> inputs = small_inputs(graph, 7);
  for (int64_t k = 0; k < inputs[2].element_count(); ++k)
    inputs[2].set(k, static_cast<double>((k * 7919) % 23) - 4);  // some outside
  return inputs;
}

TEST(TransposedLoad, RowsThatDataNames) {
  for (const char* dtype : {"float", "double", "int32", "half", "bfloat16"})
    for (const char* index :
         {"max(min(I(i), 10), 0)", "I(i) % 11", "max(min(I(i) + r // 99, 10), 0)"})
      for (const auto& [channels, points, lanes, copies] : {std::tuple{8, 32, 8, 8},
                                                            {8, 29, 8, 4},
                                                            {12, 19, 4, 4},
                                                            {10, 16, 16, 2},
                                                            {3, 20, 8, 3},
                                                            {16, 7, 8, 8}}) {
        const Program p = sampled(dtype, 11, channels, points, index, lanes, copies);
        SCOPED_TRACE(std::string(dtype) + " " + index + " " + print(p));
        EXPECT_EQ(check_emitted(p, named(p.graph)), "");
      }
}

TEST(TransposedLoad, RowsThatDataNamesAreNotGathered) {
  const std::string inside = "max(min(I(i), 10), 0)";
  for (const char* target : {"", "x86-64-v3", "x86-64-v2"}) {
    const auto ir = [&](const Program& p) { return EmittedProgram(p, target).ir(); };
    const std::string rows = ir(sampled("float", 11, 8, 32, inside, 8, 8));
    EXPECT_EQ(gathers(rows), 0u) << target;
    EXPECT_EQ(occurrences(rows, "load <4 x float>, ptr"), 16u) << target;
  }
  const std::string few = EmittedProgram(sampled("float", 11, 8, 32, inside, 8, 2)).ir();
  EXPECT_GT(gathers(few) + occurrences(few, "load float, ptr"), 0u)
      << "fewer copies than a piece has elements";
}

// Three of four elements that are there all the same; at a row's end there is no fourth.
TEST(TransposedLoad, PiecesLongerThanTheTile) {
  const auto program = [](const char* column) {
    const Graph graph = parse_graph(
        std::string("def main(float(5, 8) x, float(3, 16) w, int64(16) I) -> (y) { y(i) +=! "
                    "x(I(i) % 5, r + ") +
        column + ") * w(r, i) where i in 0:16, r in 0:3 }");
    Program p = vectorize(initial_program(graph, CpuMachine{2, 512}), 0, 0, 8);
    return unroll(std::move(p), 0, 1, 3);
  };
  for (const char* column : {"0", "4", "5"}) {
    const Program p = program(column);
    EXPECT_EQ(check_emitted(p, named(p.graph)), "") << column;
  }
  EXPECT_GT(occurrences(EmittedProgram(program("4")).ir(), "load <4 x float>, ptr"), 0u);
  EXPECT_EQ(occurrences(EmittedProgram(program("5")).ir(), "load <4 x float>, ptr"), 0u);
}

// An input that lies backwards, read backwards: the fourth element of a piece lies before the first
// of its row.
TEST(TransposedLoad, PiecesOfReversedRows) {
  for (const char* column : {"2 - r", "7 - r", "4 - r"}) {
    const Graph graph = parse_graph(
        std::string("def main(float(5, 8) x, float(3, 16) w, int64(16) I) -> (y) { y(i) +=! "
                    "x(I(i) % 5, ") +
        column + ") * w(r, i) where i in 0:16, r in 0:3 }");
    Program p = vectorize(initial_program(graph, CpuMachine{2, 512}), 0, 0, 8);
    p = unroll(std::move(p), 0, 1, 3);
    std::vector<TensorLayout> layouts;
    for (const TensorInfo& info : p.graph.tensors) layouts.push_back(contiguous_layout(info.shape));
    layouts[p.graph.inputs[0].value].strides.back() = -1;
    const EmittedProgram emitted(p, {}, layouts);
    const std::vector<Array> inputs = named(p.graph);
    for (const bool at_start : {false, true})
      EXPECT_EQ(difference(interpret(p, inputs), emitted(inputs, at_start), 1e-5), "") << column;
  }
}

// An index that data decides, the same for all lanes, leaves these contiguous.
TEST(TransposedLoad, RowsOfAllLanes) {
  const Graph graph = parse_graph(
      "def main(float(6, 40) x, int64(9) I) -> (y) { y(j, i) = x(I(j) % 6, i) where j in 0:9, i in "
      "0:40 }");
  Program p = vectorize(initial_program(graph, CpuMachine{2, 512}), 0, 1, 8);
  EXPECT_EQ(gathers(EmittedProgram(p).ir()), 0u);
  EXPECT_EQ(check_emitted(p, small_inputs(graph, 5)), "");
  p = unroll(std::move(p), 0, 1, 4);
  EXPECT_EQ(occurrences(EmittedProgram(p).ir(), "load float, ptr"), 0u);
  EXPECT_EQ(check_emitted(p, small_inputs(graph, 5)), "");
}

// What rows exclude is not loaded with what they do not, at neither end of the tensor.
TEST(TransposedLoad, NeighboursThatRowsExclude) {
  for (const char* rows : {"i + r >= 1", "i + r <= 20", "i + r >= 1, i + r <= 20",
                           "i + r >= 1, i + r <= 20, j >= 2 * i"}) {
    const Graph graph = parse_graph(
        std::string("def main(float(32, 20) x, float(3) w) -> (y) { y(j, i) +=! x(j, i + r - 1) * "
                    "w(r) where j in 0:32, i in 0:20, r in 0:3, i + r >= 1, i + r <= 20, ") +
        rows + " }");
    for (const int64_t taps : {1, 3}) {
      const Program p =
          unroll(vectorize(initial_program(graph, CpuMachine{2, 512}), 0, 0, 16), 0, 1, 4);
      EXPECT_EQ(check_emitted(taps > 1 ? unroll(p, 0, 2, taps) : p, small_inputs(graph, 7)), "")
          << rows;
    }
  }
}

}  // namespace
}  // namespace adjit::testing
