// tests/runtime/trace/ops/stages/stage_builder_test.cpp -- one stage, axis by axis.
#include "runtime/trace/ops/stages/stage_builder.hpp"

#include <gtest/gtest.h>

#include "tests/rooms.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

struct Built {
  Trace trace{"f"};
  std::vector<Array> arrays;

  TensorId input(const Array& array) {
    arrays.push_back(array);
    return add_input(trace, "x", array.dtype, array.shape);
  }
  Graph graph(TensorId result) {
    const TensorId outputs[] = {result};
    return trace.finish(outputs);
  }
};

// The example of the header.
TEST(StageBuilder, WindowsWithPaddingAreRows) {
  Built b;
  const TensorId x = b.input(f64({5}, {1, 2, 4, 8, 16}));
  trace::StageBuilder stage(b.trace, "windows", {5});
  const trace::Formula i = stage.axis(0), r = stage.reduce(3);
  stage.between(i + r - 1, 0, 5);
  const Graph g =
      b.graph(stage.finish(CombinerKind::Sum, stage.read(x, {i + r - 1}), DType::Float64));
  ASSERT_EQ(g.stages.size(), 1u);
  EXPECT_EQ(g.stages[0].domain.inequalities.size(), 2u);
  EXPECT_EQ(values(interpret(g, b.arrays)[0]), (Values{3, 7, 14, 28, 24}));
}

TEST(StageBuilder, RowsThatAlwaysHoldAreLeftOut) {
  Built b;
  const TensorId x = b.input(f64({5}, {1, 2, 4, 8, 16}));
  trace::StageBuilder stage(b.trace, "windows", {3});
  const trace::Formula i = stage.axis(0), r = stage.reduce(3);
  stage.between(i + r, 0, 5);
  const Graph g = b.graph(stage.finish(CombinerKind::Sum, stage.read(x, {i + r}), DType::Float64));
  EXPECT_TRUE(g.stages[0].domain.is_box());
}

TEST(StageBuilder, HalfTypesAreReadWideAndRoundedOnce) {
  Built b;
  const TensorId x = b.input(array(DType::Float16, {3}, {2048, 1, 1}));
  trace::StageBuilder stage(b.trace, "total", {});
  const trace::Formula r = stage.reduce(3), value = stage.read(x, {r});
  EXPECT_EQ(value.dtype(), DType::Float32);
  const Graph g = b.graph(stage.finish(CombinerKind::Sum, value, DType::Float16));
  EXPECT_EQ(g.info(g.outputs[0]).dtype, DType::Float16);
  EXPECT_EQ(values(interpret(g, b.arrays)[0]), Values{2050}) << "not 2048 + 1 + 1 rounded twice";
}

TEST(StageBuilder, BroadcastReadsAreAlignedAtTheEnd) {
  Built b;
  const TensorId x = b.input(f64({3, 1}, {1, 2, 3})), y = b.input(f64({2}, {10, 20}));
  trace::StageBuilder stage(b.trace, "sum", {3, 2});
  EXPECT_EQ(stage.rank(), 2u);
  const Graph g = b.graph(stage.finish(read_broadcast(stage, x) + read_broadcast(stage, y)));
  EXPECT_EQ(values(interpret(g, b.arrays)[0]), (Values{11, 21, 12, 22, 13, 23}));
}

TEST(StageBuilder, GuardedReadsAreZeroOutside) {
  Built b;
  const TensorId x = b.input(f64({2}, {5, 6}));
  trace::StageBuilder stage(b.trace, "guarded", {4});
  const trace::Formula i = stage.axis(0);
  const trace::Formula index[] = {i};
  const Graph g = b.graph(stage.finish(stage.read_where(i < 2, x, index)));
  EXPECT_EQ(values(interpret(g, b.arrays)[0]), (Values{5, 6, 0, 0}));
}

TEST(StageBuilder, StoppedStagesAreConstantsToTheDerivative) {
  Built b;
  const TensorId x = b.input(f64({2}, {5, 6}));
  trace::StageBuilder stage(b.trace, "stopped", {2});
  stage.stop_gradient();
  const Graph g = b.graph(stage.finish(stage.read(x, {stage.axis(0)})));
  EXPECT_TRUE(g.stages[0].stop_gradient);
}

}  // namespace
}  // namespace adjit::testing
