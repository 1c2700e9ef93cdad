// tests/autosched/cpu/passes/reductions/widen_test.cpp -- which operands of half types are
// converted once.
#include "autosched/cpu/passes/reductions/widen.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/layout.hpp"

namespace adjit::sched {
namespace {

Graph half_product(int64_t rows, int64_t columns, const std::string& type = "half") {
  const std::string m = std::to_string(rows), n = std::to_string(columns);
  return parse_graph("def f(" + type + "(" + m + ", 64) a, " + type + "(64, " + n +
                     ") b) -> (c) { c(i, j) +=! float(a(i, r)) * float(b(r, j)) }");
}

TEST(WidenOperands, ThoseThatAreReadOftenAreConvertedOnce) {
  const Graph graph = half_product(128, 96);
  Layout layout(graph);
  EXPECT_EQ(widen_operands(layout.context, 0), 2u) << "a copy of each stands before the product";
  for (TensorId id : tensors_read(layout.context.program.graph, layout.context.stage(2)))
    EXPECT_EQ(layout.context.program.graph.info(id).dtype, DType::Float32);
  expect_faithful(layout.context.program, graph);
}

TEST(WidenOperands, ThoseThatAreReadFewTimesStay) {
  Layout layout(half_product(128, 4));  // every element of a is read by four columns
  EXPECT_EQ(widen_operands(layout.context, 0), 1u) << "b alone";
}

TEST(WidenOperands, OtherTypesAndOtherStagesStay) {
  Layout floats(half_product(128, 96, "float"));
  EXPECT_EQ(widen_operands(floats.context, 0), 0u);
  Layout sum(parse_graph("def f(half(64, 64) a) -> (c) { c(i) +=! float(a(i, r)) }"));
  EXPECT_EQ(widen_operands(sum.context, 0), 0u) << "no product";
}

TEST(WidenOperands, IsADecision) {
  Layout layout(half_product(128, 96));
  layout.choices = Choices(Answers{{{Decision::Pack, "c"}, 1}});
  EXPECT_EQ(widen_operands(layout.context, 0), 0u);
}

}  // namespace
}  // namespace adjit::sched
