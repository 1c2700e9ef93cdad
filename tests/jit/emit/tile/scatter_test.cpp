// tests/jit/emit/tile/scatter_test.cpp -- points that write where data says: one by one, in lanes
// that write apart, and in lanes that may write one element and take turns.
#include <gtest/gtest.h>

#include <random>

#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/segments.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/rooms.hpp"
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
      CpuMachine{1, 512});
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

// A row's product and sum are one instruction.
TEST(EmittedScatter, RowsTakeMultiplyAdds) {
  const auto rows = [](const std::string& type, const std::string& how) {
    return vectorize(initial_program(parse_graph("def main(int64(9) I, " + type + "(9, 16) x, " +
                                                 type + "(9) w) -> (h) { scatter " + type +
                                                 "(7, 16) h(max(min(I(i), 6), 0), c) " + how +
                                                 " x(i, c) * w(i) where i in 0:9, c in 0:16 }"),
                                     CpuMachine{1, 512}),
                     1, 1, 16);
  };
  for (const char* type : {"float", "double"}) {
    const std::string ir = checked_scatter(rows(type, "+=!"));
    EXPECT_EQ(occurrences(ir, "llvm.fma") > 0, target_has_fma());
    EXPECT_NE(occurrences(ir, "fadd") > 0, target_has_fma()) << "no sum beside them\n" << ir;
    EXPECT_NE(occurrences(ir, "fmul") > 0, target_has_fma()) << "no product beside them\n" << ir;
  }
  EXPECT_EQ(occurrences(checked_scatter(rows("float", "max=!")), "llvm.fma"), 0u);
  EXPECT_EQ(occurrences(checked_scatter(rows("int32", "+=!")), "llvm.fma"), 0u);
  checked_scatter(rows("half", "+=!"));
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
      CpuMachine{1, 512});
  const std::string ir = checked_scatter(vectorize(program, scatter_of(program), 1, 8));
  EXPECT_GT(occurrences(ir, "store <8 x float>"), 0u);
}

// Lanes along points, instances along the elements of the rows that they write.
Program in_rows(const std::string& how, int64_t points, int64_t columns, int64_t lanes,
                int64_t instances, const std::string& type = "float") {
  const std::string n = std::to_string(points), c = std::to_string(columns);
  const Program program =
      initial_program(parse_graph("def main(int64(" + n + ") I, " + type + "(" + c + ", " + n +
                                  ") x) -> (h) { "
                                  "scatter " +
                                  type + "(7, " + c + ") h(I(i), j) " + how +
                                  " x(j, i) * x(0, i) "
                                  "where i in 0:" +
                                  n + ", j in 0:" + c + " }"),
                      CpuMachine{1, 512});
  const size_t s = scatter_of(program);
  return unroll(vectorize(program, s, 0, lanes), s, 1, instances);
}

// Copies of the lanes' own axis are a vector apart, not an element.
TEST(EmittedScatter, CopiesOfTheLanesAxisAreNoRows) {
  for (const char* type : {"float", "double"}) {
    const std::string t(type);
    const Program program =
        initial_program(parse_graph("def main(int64(9) I, " + t + "(9, 40) x) -> (h) { scatter " +
                                    t + "(7, 40) h(I(i), j) +=![drop] x(i, j) }"),
                        CpuMachine{1, 512});
    const size_t s = scatter_of(program);
    for (const int64_t lanes : {4, 8})
      for (const int64_t instances : {2, 4}) {
        checked_scatter(unroll(vectorize(program, s, 1, lanes), s, 1, instances));
        checked_scatter(unroll(unroll(vectorize(program, s, 1, lanes), s, 1, instances), s, 0, 3));
      }
  }
}

TEST(EmittedScatter, LanesWriteRows) {
  for (const char* how : {"+=![drop]", "max=![drop]", "*=![clip]", "min=![wrap]", "=[drop]"})
    for (const char* type : {"float", "double", "int32"})
      for (const auto& [points, columns, lanes, instances] : {std::tuple{32, 8, 8, 4},
                                                              {29, 8, 8, 8},
                                                              {13, 12, 4, 4},
                                                              {40, 6, 8, 2},
                                                              {9, 5, 8, 5},
                                                              {16, 10, 8, 4}})
        checked_scatter(in_rows(how, points, columns, lanes, instances, type));
  const std::string rows = checked_scatter(in_rows("+=![wrap]", 32, 8, 8, 4));
  EXPECT_EQ(occurrences(rows, "store <4 x float>"), 8u);
  EXPECT_EQ(occurrences(rows, "store float"), 0u);
  EXPECT_EQ(occurrences(checked_scatter(in_rows("=[wrap]", 32, 8, 8, 4)), "store <4 x float>"), 0u)
      << "the last writer of an element is the last point";
}

// A table's gradient with its points sorted; the last stage is the sum that each row makes.
// With a start it is a scatter still, without one a reduction.
Program inverted(const std::string& how, int64_t columns, const std::string& type = "float",
                 int64_t piece = 0, bool starts = true) {
  const std::string c = std::to_string(columns), shape = type + "(7, " + c + ") ";
  const Program program =
      initial_program(parse_graph("def main(int64(37) I, " + type + "(37, " + c + ") x, " + shape +
                                  "h0) -> (h) { scatter " + shape + "h(I(i), j) " + how +
                                  " x(i, j) * x(i, 0)" + (starts ? " from h0" : "") + " }"),
                      CpuMachine{1, 512});
  return invert(program, scatter_of(program), 8, piece);
}

// The stage that goes through segments.
size_t segments_in(const Program& program) {
  for (size_t s = program.graph.stages.size(); s-- > 0;)
    if (segments_of(program.graph.pool, program.graph.stages[s])) return s;
  return SIZE_MAX;
}

TEST(EmittedScatter, LoopsOverSegmentsGoThroughNothingElse) {
  for (const bool starts : {true, false})
    for (const auto& [how, type] : {std::pair{"+=![drop]", "float"},
                                    {"=[drop]", "float"},
                                    {"max=![drop]", "int32"},
                                    {"+=![clip]", "half"}}) {
      const Program plain = inverted(how, 8, type, 0, starts);
      const size_t s = segments_in(plain);
      if (s == SIZE_MAX) {
        EXPECT_EQ(std::string(how), "=[drop]") << "a row has its last point";
        checked_scatter(plain);
        continue;
      }
      checked_scatter(parallel(plain, s, 2));
      checked_scatter(vectorize(parallel(plain, s, 2), s, 2, 4));
      checked_scatter(parallel(vectorize(plain, s, 1, 4), s, 2));
    }
}

// Points outside a scatter's domain have places behind all rows: what they read is out of range.
TEST(EmittedScatter, PointsOutsideADomainReadNothing) {
  for (const char* start : {"", " from h0"})
    for (const int64_t piece : {0, 4}) {
      const Program plain = initial_program(
          parse_graph("def main(int64(40) I, float(40) x, float(7) h0) -> (h) { scatter float(7) "
                      "h(I(i)) +=![drop] x(i - 30) where i in 0:40, i >= 30" +
                      std::string(start) + " }"),
          CpuMachine{1, 512});
      const Program sorted = invert(plain, scatter_of(plain), 8, piece);
      const size_t s = sorted.graph.stages.size() - 1;
      checked_scatter(sorted);
      checked_scatter(unroll(sorted, s, 1, 2));
      checked_scatter(vectorize(sorted, s, 0, 4));
      if (piece > 0) checked_scatter(unroll(sorted, s - 1, 1, 2));
    }
}

// What a segment's points write is loaded and stored around them.
TEST(EmittedScatter, ElementsOfSegmentsStayInRegisters) {
  const Program plain = inverted("max=![drop]", 8);
  const std::string ir = checked_scatter(vectorize(plain, plain.graph.stages.size() - 1, 1, 8));
  EXPECT_EQ(occurrences(ir, "store <8 x float>"), 1u) << ir;
  EXPECT_LT(ir.find("load <8 x float>"), ir.find("phi <8 x float>"));
  EXPECT_GT(ir.find("store <8 x float>"), ir.find("phi <8 x float>"));
}

// Other loops ask every point.
TEST(EmittedScatter, LoopsThatDoNotFollowSegmentsAskEveryPoint) {
  for (const bool starts : {true, false}) {
    const Program plain = inverted("+=![drop]", 6, "float", 0, starts);
    const size_t s = plain.graph.stages.size() - 1;
    checked_scatter(reorder(plain, s, std::vector<size_t>{2, 0, 1}));
    checked_scatter(reorder(plain, s, std::vector<size_t>{0, 2, 1}));
    checked_scatter(tile(plain, s, 2, std::vector<int64_t>{5}));
    checked_scatter(vectorize(plain, s, 2, 8));
    checked_scatter(vectorize(plain, s, 0, 4));
    checked_scatter(unroll(plain, s, 2, 3));
    checked_scatter(unroll(plain, s, 0, 2));
    checked_scatter(unroll(vectorize(plain, s, 1, 4), s, 0, 3));
  }
}

// Sums of a row's places: one loop between bounds that are loaded, and one store.
TEST(EmittedScatter, ReductionsOverSegmentsStoreOnce) {
  const Program plain = inverted("+=![drop]", 8, "float", 0, false);
  const std::string ir = checked_scatter(vectorize(plain, segments_in(plain), 1, 8));
  EXPECT_EQ(occurrences(ir, "store <8 x float>"), 1u) << ir;
  EXPECT_EQ(occurrences(ir, "select <8 x i1>"), 0u) << "no place is asked for: " << ir;
}

TEST(EmittedScatter, LongRowsInPieces) {
  for (const bool starts : {true, false})
    for (const int64_t piece : {2, 4})
      for (const char* how : {"+=![drop]", "max=![drop]"}) {
        Program program = inverted(how, 6, "float", piece, starts);
        for (size_t s = 0; s < program.graph.stages.size(); ++s)
          if (segments_of(program.graph.pool, program.graph.stages[s]))
            program = parallel(std::move(program), s, 1);
        checked_scatter(program);
      }
}

// The permutation of a sort is known to write each element once.
TEST(EmittedScatter, PermutationsRunInParallel) {
  Program program = inverted("+=![drop]", 6);
  for (size_t s = 0; s + 1 < program.graph.stages.size(); ++s)
    if (program.graph.stages[s].kind == StageKind::Scatter)
      program = parallel(std::move(program), s, 1);
  checked_scatter(program);
}

}  // namespace
}  // namespace adjit::testing
