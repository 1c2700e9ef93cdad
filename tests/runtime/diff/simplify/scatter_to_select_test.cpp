// tests/runtime/diff/simplify/scatter_to_select_test.cpp -- which scatters are selects.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/interpret/interpreter.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

// Inputs t (5 integers, some out of range), v (5), z (5 by 4); h by the statement. Whether it is a
// select now, once that has been found to mean the same.
bool becomes_select(const std::string& statement) {
  const Graph before =
      parse_graph("def main(int64(5) t, float(5) v, float(5, 4) z) -> (h) { scatter float(5, 4) h" +
                  statement + " }");
  verify(before);
  const Graph after = selects_for_unique_scatters(before);
  verify(after);
  std::vector<Array> inputs = small_inputs(before, 4);
  for (int64_t k = 0; k < 5; ++k) inputs[0].set(k, static_cast<double>(2 * k - 3));
  EXPECT_EQ(interpret(before, inputs)[0].bytes, interpret(after, inputs)[0].bytes) << statement;
  return after.stages[0].kind == StageKind::Compute;
}

TEST(UniqueScatters, OneWriterARow) {
  EXPECT_TRUE(becomes_select("(i, t(i)) +=![drop] v(i)"));
  EXPECT_TRUE(becomes_select("(i, t(i)) +=[drop] v(i) from z"));
  EXPECT_TRUE(becomes_select("(i, t(i)) =[drop] v(i)"));
  EXPECT_TRUE(becomes_select("(i, t(i)) =[drop] v(i) from z"));
  EXPECT_TRUE(becomes_select("(i, 2) +=![drop] v(i)"));
  EXPECT_TRUE(becomes_select("(i, t(i) + i) +=![drop] v(i) * 2.0"));
}

TEST(UniqueScatters, WhatMayMeetStays) {
  EXPECT_FALSE(becomes_select("(t(i), i % 4) +=![drop] v(i)")) << "columns are no axis";
  EXPECT_FALSE(becomes_select("(t(i), j) +=![drop] v(i) where i in 0:5, j in 0:4"))
      << "rows may repeat";
  EXPECT_FALSE(becomes_select("(i, t(i)) +=![clip] v(i)")) << "the mode says more than a select";
  EXPECT_FALSE(becomes_select("(i, t(i)) max=![drop] v(i)"));
  EXPECT_FALSE(becomes_select("(i, t(i)) +=![drop] v(i) where i in 0:5, i <= 2"));
  EXPECT_FALSE(becomes_select("(i, t(i)) +=![drop] v(i) where i in 0:3")) << "a part of the rows";
}

TEST(UniqueScatters, ASumOverARowIsItsElement) {
  const Graph graph =
      simplify(parse_graph("def main(int64(5) t, float(5) v) -> (s) {\n"
                           "  scatter float(5, 4) h(i, t(i)) +=![drop] v(i)\n"
                           "  s(i) +=! h(i, r_j) * 3.0\n}"));
  verify(graph);
  for (const Stage& stage : graph.stages) {
    EXPECT_NE(stage.kind, StageKind::Scatter);
    EXPECT_EQ(stage.domain.reduction_rank(), 0u) << print(graph);
  }
  Array t = Array::zeros(DType::Int64, {5});
  const double at[] = {3, -1, 0, 4, 2};
  for (int64_t k = 0; k < 5; ++k) t.set(k, at[k]);
  const double v[] = {1, 2, 3, 4, 5};
  const std::vector<Array> inputs{t, Array::of(DType::Float32, {5}, v)};
  const std::vector<Array> s = interpret(graph, inputs);
  const double wanted[] = {3, 0, 9, 0, 15};
  for (int64_t k = 0; k < 5; ++k) EXPECT_EQ(s[0].at(k), wanted[k]);
}

}  // namespace
}  // namespace adjit::testing
