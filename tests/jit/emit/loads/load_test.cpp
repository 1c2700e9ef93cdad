// tests/jit/emit/loads/load_test.cpp -- every class of load: what it becomes, and that it reads
// what it should and nothing else.
#include <gtest/gtest.h>

#include "autosched/lower/initial_program.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

struct Loads {
  size_t gathers, masked, vectors, scalars, masked_stores;
  std::string ir;
};

Loads loads_of(const std::string& ir) {
  return {gathers(ir),
          occurrences(ir, "call <8 x float> @llvm.masked.load") +
              occurrences(ir, "call <4 x float> @llvm.masked.load"),  // where registers are short
          occurrences(ir, "= load <8 x float>"),
          occurrences(ir, "= load float"),
          occurrences(ir, "call void @llvm.masked.store"),
          ir};
}

// One stage, its last axis in 8 lanes.
Program in_lanes(const Graph& graph) {
  const size_t axes = graph.stages[0].domain.output_rank;
  return vectorize(initial_program(graph, CpuMachine{1, 512}), 0, axes - 1, 8);
}

Loads checked(const std::string& text) { return loads_of(checked_ir(in_lanes(parse_graph(text)))); }

TEST(Load, UniformValuesAreScalars) {
  const Loads l =
      checked("def main(float(5) x) -> (y) { y(i, j) = x(i) * 2.0 where i in 0:5, j in 0:16 }");
  EXPECT_EQ(l.scalars, 1u);
  EXPECT_EQ(l.gathers + l.masked + l.vectors, 0u);
}

TEST(Load, ContiguousLanesAreVectors) {
  const Loads l = checked("def main(float(5, 16) x) -> (y) { y(i, j) = x(i, j) * 2.0 }");
  EXPECT_EQ(l.vectors, 1u);
  EXPECT_EQ(l.gathers + l.masked + l.scalars + l.masked_stores, 0u);
}

TEST(Load, ARaggedTailIsMaskedOnce) {
  const Loads l = checked("def main(float(5, 19) x) -> (y) { y(i, j) = x(i, j) * 2.0 }");
  EXPECT_EQ(l.vectors, 1u);
  EXPECT_EQ(l.masked, 1u);
  EXPECT_EQ(l.gathers, 0u);
}

TEST(Load, ReversedLanesAreAVectorTurnedRound) {
  for (const char* extent : {"16", "21"}) {
    const std::string n = extent;
    const std::string ir =
        checked_ir(in_lanes(parse_graph("def main(float(3, " + n + ") x) -> (y) { y(i, j) = x(i, " +
                                        n + " - 1 - j) where i in 0:3, j in 0:" + n + " }")));
    EXPECT_EQ(loads_of(ir).gathers, 0u) << ir;
    EXPECT_EQ(loads_of(ir).scalars, 0u);
    EXPECT_GE(occurrences(ir, "shufflevector") + occurrences(ir, "vector.reverse"), 1u);
  }
}

TEST(Load, TransposesAndLongStridesAreGathers) {
  EXPECT_EQ(checked("def main(float(3, 99) x) -> (y) { y(i, j) = x(i, 6 * j) where i in 0:3, j in "
                    "0:16 }")
                .gathers,
            1u);
  EXPECT_EQ(checked("def main(float(16, 5) x) -> (y) { y(i, j) = x(j, i) }").gathers, 1u);
  EXPECT_EQ(checked("def main(float(13, 5) x) -> (y) { y(i, j) = x(j, i) }").gathers, 2u)
      << "whole vectors, and the tail under a mask";
}

TEST(Load, ATileOfThePackedLayoutIsContiguous) {
  const Loads l = checked(
      "def main(float(2, 3, 8) x) -> (y) { y(i, j) = x(j // 8, i, j % 8) where i in 0:3, j in 0:16 "
      "}");
  EXPECT_EQ(l.gathers, 0u);
  EXPECT_EQ(l.vectors, 1u) << l.ir;
}

TEST(Load, IndicesFromDataAreGathered) {
  const Graph graph = parse_graph(
      "def main(float(7, 9) x, int64(3, 21) at) -> (y) { y(i, j) = x(i, at(i, j)) where i in 0:3, "
      "j "
      "in 0:21 }");
  std::vector<Array> inputs = small_inputs(graph, 8);
  for (int64_t k = 0; k < inputs[1].element_count(); ++k)
    inputs[1].set(k, static_cast<double>((5 * k + 3) % 9));
  EXPECT_EQ(check_emitted(in_lanes(graph), inputs), "");
  EXPECT_EQ(check_emitted(initial_program(graph, CpuMachine{1, 512}), inputs), "");
}

TEST(Load, IndicesFromDataThatAreEqualInAllLanesAreScalars) {
  const Graph graph = parse_graph(
      "def main(float(9) x, int64(3) at) -> (y) { y(i, j) = x(at(i)) * 2.0 where i in 0:3, j in "
      "0:16 "
      "}");
  std::vector<Array> inputs = small_inputs(graph, 8);
  for (int64_t k = 0; k < 3; ++k) inputs[1].set(k, static_cast<double>(8 - 4 * k));
  const Program program = in_lanes(graph);
  EXPECT_EQ(check_emitted(program, inputs), "");
  EXPECT_EQ(loads_of(EmittedProgram(program).ir()).gathers, 0u);
}

// Lanes past the points read what is behind them where rows are longer, else nothing: pages behind
// are watched.
TEST(Load, RowsWithRoomBehindAreWholeVectors) {
  for (const auto& [columns, whole] : {std::pair{16, true}, {20, true}, {12, false}, {15, false}}) {
    const Graph graph = parse_graph("def main(float(9, " + std::to_string(columns) +
                                    ") x, int64(3) at) -> (y) { y(i, j) = x(max(min(at(i), 8), 0), "
                                    "j) * 2.0 where i in 0:3, j in 0:12 }");
    std::vector<Array> inputs = small_inputs(graph, 8);
    for (int64_t k = 0; k < 3; ++k) inputs[1].set(k, static_cast<double>(8 - 4 * k));
    const Program program = vectorize(initial_program(graph, CpuMachine{1, 512}), 0, 1, 16);
    EXPECT_EQ(check_emitted(program, inputs), "");
    EXPECT_EQ(occurrences(EmittedProgram(program).ir(), "llvm.masked.load") == 0, whole) << columns;
  }
}

// The first and the last lanes lie outside x: reads there fault on the watched pages.
TEST(Load, PredicatesMaskWhatLiesOutside) {
  for (const char* shift : {"1", "3", "-2", "-20"}) {
    const Graph graph = parse_graph(std::string("def main(float(19) x) -> (y) { y(i, j) = x(j - ") +
                                    shift + " where 0 <= j - " + shift + " && j - " + shift +
                                    " < 19) where i in 0:2, j in 0:19 }");
    const std::string ir = checked_ir(in_lanes(graph));
    EXPECT_EQ(loads_of(ir).gathers, 0u);
    EXPECT_EQ(loads_of(ir).vectors, 0u) << "every vector may reach outside";
    checked_ir(initial_program(graph, CpuMachine{1, 512}));
  }
}

TEST(Load, PredicatesOfUniformReads) {
  // Equal in all lanes under a condition that is (first) and is not (second).
  for (const char* condition : {"0 <= i - 1", "j < 5 && 0 <= i - 1"}) {
    const Graph graph =
        parse_graph(std::string("def main(float(3) x) -> (y) { y(i, j) = x(i - 1 where ") +
                    condition + ") where i in 0:4, j in 0:12 }");
    EXPECT_EQ(loads_of(checked_ir(in_lanes(graph))).gathers, 0u);
    checked_ir(initial_program(graph, CpuMachine{1, 512}));
  }
}

TEST(Load, ReversedReadsUnderAPredicate) {
  const Graph graph = parse_graph(
      "def main(float(10) x) -> (y) { y(j) = x(12 - j where 0 <= 12 - j && 12 - j < 10) where j in "
      "0:21 }");
  EXPECT_EQ(loads_of(checked_ir(in_lanes(graph))).gathers, 0u);
}

TEST(Load, GathersUnderAPredicate) {
  const Graph graph = parse_graph(
      "def main(float(30) x) -> (y) { y(j) = x(3 * j - 7 where 0 <= 3 * j - 7 && 3 * j - 7 < 30) "
      "where j in 0:21 }");
  checked_ir(in_lanes(graph));
}

// A row of the domain lets lanes and copies die; what they would have read lies outside.
TEST(Load, RowsKeepReadsInside) {
  const Graph graph = parse_graph(
      "def main(float(9) x) -> (y) { y(i, j) +=! x(j - i) where i in 0:9, j in 0:9, r in 0:1, i <= "
      "j "
      "}");
  checked_ir(initial_program(graph, CpuMachine{1, 512}));
  checked_ir(vectorize(initial_program(graph, CpuMachine{1, 512}), 0, 1, 8));
  checked_ir(vectorize(unroll(initial_program(graph, CpuMachine{1, 512}), 0, 0, 3), 0, 1, 4));
}

// i <= v <= k with v in lanes and i, k unrolled: copies whose lanes are all dead read nothing.
TEST(Load, InstancesWithoutLiveLanesReadNothing) {
  const Graph graph = parse_graph(
      "def main(float(6) x) -> (y) { y(i, k, v) +=! x(k - i) where i in 0:6, k in 0:6, v in 0:8, r "
      "in 0:1, i <= v, v <= k }");
  Program program = initial_program(graph, CpuMachine{1, 512});
  program = unroll(std::move(program), 0, 0, 6);
  program = unroll(std::move(program), 0, 1, 6);
  checked_ir(vectorize(std::move(program), 0, 2, 8));
}

TEST(Load, EveryDTypeInEveryClass) {
  for (const char* dtype : {"bool", "uint8", "int8", "int16", "int32", "int64", "half", "bfloat16",
                            "float", "double"}) {
    SCOPED_TRACE(dtype);
    const std::string t = dtype;
    const Graph graph =
        parse_graph("def main(" + t +
                    "(21, 21) x) -> (a, b, c, d, e) {\n"
                    " a(i, j) = x(i, j)\n b(i, j) = x(i, 20 - j) where i in 0:21, j in 0:21\n c(i, "
                    "j) = x(j, i)\n"
                    " d(i, j) = x(i, i) where i in 0:21, j in 0:21\n"
                    " e(i, j) = x(i, j - 1 where 1 <= j) where i in 0:21, j in 0:21\n}");
    Program program = initial_program(graph, CpuMachine{1, 512});
    EXPECT_EQ(check_emitted(program, small_inputs(graph, 5), 0), "");
    for (size_t s = 0; s < 5; ++s) program = vectorize(std::move(program), s, 1, 8);
    EXPECT_EQ(check_emitted(program, small_inputs(graph, 5), 0), "");
  }
}

// Inputs lie as the caller has them: transposed, reversed, spread, repeated.
TEST(Load, InputsOfAnyStrides) {
  const Graph graph = parse_graph("def main(float(6, 19) x) -> (y) { y(i, j) = x(i, j) + 1.0 }");
  const std::vector<Array> inputs = small_inputs(graph, 2);
  for (const std::vector<int64_t>& strides : {std::vector<int64_t>{1, 6},
                                              {-19, 1},
                                              {19, -1},
                                              {-19, -1},
                                              {40, 2},
                                              {0, 1},
                                              {1, 0},
                                              {0, 0},
                                              {-1, -6}}) {
    SCOPED_TRACE(strides[0]);
    Array x = inputs[0];  // where elements share memory, the last one written counts
    if (strides[0] == 0 || strides[1] == 0)
      for (int64_t k = 0; k < x.element_count(); ++k)
        x.set(k, static_cast<double>((strides[0] ? k / 19 : 0) * 3 + (strides[1] ? k % 19 : 0)));
    const std::vector<Array> expected = interpret(graph, std::vector<Array>{x});
    for (const Program& program : {initial_program(graph, CpuMachine{1, 512}), in_lanes(graph)}) {
      std::vector<TensorLayout> layouts;
      for (const TensorInfo& t : program.graph.tensors)
        layouts.push_back(contiguous_layout(t.shape));
      layouts[program.graph.inputs[0].value].strides = strides;
      const EmittedProgram emitted(program, {}, layouts);
      for (const bool at_start : {false, true})
        EXPECT_EQ(difference(expected, emitted(std::vector<Array>{x}, at_start), 0), "");
    }
  }
}

// Vectors wider than the registers, of which a part has no lane: it is not loaded.
TEST(Load, PartsOfWideVectorsThatAreOff) {
  const Graph graph = parse_graph(
      "def main(float(195) x) -> (y) { y(i, j) min=! x(2 * j - r + 1) where i in 0:3, j in 0:100, "
      "r in 0:7, 2 * j - r + 1 >= 0, 2 * j - r + 1 <= 194 }");
  for (const int64_t lanes : {16, 32})
    EXPECT_EQ(check_emitted(vectorize(initial_program(graph, CpuMachine{1, 256}), 0, 1, lanes),
                            small_inputs(graph, 3)),
              "")
        << lanes;
}

}  // namespace
}  // namespace adjit::testing
