// tests/autosched/gpu/loops/vector_lanes_test.cpp -- what lies side by side along an axis.
#include "autosched/gpu/loops/vector_lanes.hpp"

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

int64_t lanes(const std::string& text, size_t axis, std::optional<int64_t> span = std::nullopt) {
  const Program p = initial_program(parse_graph("def f(" + text), kGpu);
  const Stage& stage = p.graph.stages.back();
  return lanes_along(p.graph, stage, axis, span.value_or(stage.domain.extents[axis]));
}

TEST(VectorLanes, AreWhatAnAccessMoves) {
  EXPECT_EQ(lanes("float(5, 32) x) -> (y) { y(i, j) = x(i, j) }", 1), 4);
  EXPECT_EQ(lanes("double(5, 32) x) -> (y) { y(i, j) = x(i, j) }", 1), 2);
  EXPECT_EQ(lanes("half(5, 32) x) -> (y) { y(i, j) = x(i, j) }", 1), 8);
  EXPECT_EQ(lanes("bool(5, 32) x) -> (y) { y(i, j) = x(i, j) }", 1), 8) << "eight at most";
}

TEST(VectorLanes, OfAReductionAreOfWhatItReads) {
  EXPECT_EQ(lanes("float(5, 32) x) -> (y) { y(i) +=! double(x(i, r)) }", 1), 4);
  EXPECT_EQ(
      lanes("float(32, 8) x) -> (y) { y(j) +=! double(x(r, j)) where j in 0:8, r in 0:32 }", 0), 4);
  EXPECT_EQ(lanes("float(5, 32) x) -> (y) { y(i, j) = double(x(i, j)) }", 1), 2);
}

TEST(VectorLanes, DivideThePointsOfANest) {
  EXPECT_EQ(lanes("float(5, 32) x) -> (y) { y(i, j) = x(i, j) }", 1, 6), 1);
  EXPECT_EQ(lanes("float(5, 32) x) -> (y) { y(i, j) = x(i, j) }", 1, 8), 4);
  EXPECT_EQ(lanes("float(5, 32) x) -> (y) { y(i, j) = x(i, j) }", 1, 0), 1);
}

TEST(VectorLanes, AreOfOneAccess) {
  EXPECT_EQ(lanes("float(5, 32) x) -> (y) { y(i, j) = x(i, j) }", 0), 1);
  EXPECT_EQ(lanes("float(32, 8) x) -> (y) { y(i, j) = x(j, i) }", 1), 1) << "columns";
  EXPECT_EQ(lanes("float(5, 32) x) -> (y) { y(i, j) = x(i, 31 - j) }", 1), 1) << "backwards";
  EXPECT_EQ(lanes("float(5, 32) x, float(5) b) -> (y) { y(i, j) = x(i, j) * b(i) }", 1), 4);
}

TEST(VectorLanes, AreOfAReductionThatHasPartialResults) {
  EXPECT_EQ(lanes("float(5, 32) x) -> (y) { y(i) +=! x(i, r) }", 1), 4);
  EXPECT_EQ(lanes("float(32, 8) x) -> (y) { y(j) +=! x(r, j) where j in 0:8, r in 0:32 }", 1), 1);
  EXPECT_EQ(lanes("float(32) x) -> (v, k) { (v, k)() argmax=! (x(r), int32(r)) }", 0), 1);
}

}  // namespace
}  // namespace adjit::sched
