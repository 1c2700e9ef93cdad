// tests/jit/emit/shape/body_shape_test.cpp -- what values depend on, and how they are made.
#include "jit/emit/shape/body_shape.hpp"

#include <gtest/gtest.h>

#include "autosched/moves/moves.hpp"
#include "jit/emit/shape/instance_number.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/joins.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/shaped_body.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using emit::BodyNode;
using emit::Making;

ShapedBody of_body(const std::string& body, bool in_lanes = true) {
  Program p =
      plain(parse_graph("def f(float(5, 32) x, float(7) z, int64(1) n) -> (y) { y(i, j) = " + body +
                        " where i in 0:5, j in 0:32 }"));
  return ShapedBody(in_lanes ? vectorize(std::move(p), 0, 1, 8) : std::move(p));
}

TEST(BodyShape, ValuesDependOnTheLoopsOfTheirAxes) {
  Program p = vectorize(plain(matmul_graph(30, 40, 6)), 0, 1, 8);
  p = tile(std::move(p), 0, 0, std::vector<int64_t>{12});
  p = unroll(std::move(p), 0, 0, 4);
  const ShapedBody s(unroll(std::move(p), 0, 1, 2));
  ASSERT_EQ(s.nest.unrolled_loops.size(), 2u);
  const emit::Dependence a = (*s.shape)[s.operand(0)].dependence;
  const emit::Dependence b = (*s.shape)[s.operand(1)].dependence;
  EXPECT_EQ(a.trips, emit::trip_bits(0));
  EXPECT_FALSE(a.lanes);
  EXPECT_FALSE(a.masked) << "in bounds, and equal in all lanes";
  EXPECT_EQ(b.trips, emit::trip_bits(1));
  EXPECT_TRUE(b.lanes);
  EXPECT_TRUE(b.masked);
  EXPECT_EQ(s.root().dependence.trips, a.trips | b.trips);
  EXPECT_EQ(s.root().inputs, (std::vector<ExprId>{s.operand(0), s.operand(1)}));
  EXPECT_EQ(s.shape->node_count(), 6u) << "three axes, two reads, a product";
  EXPECT_TRUE(s.shape->reads_anywhere);
}

TEST(BodyShape, ReadsOutsideTheirTensorAreMasked) {
  const ShapedBody s(
      plain(parse_graph("def f(float(32) x) -> (y) { y(i) = x(i) where i in 0:32 }")), {{-3, 31}});
  EXPECT_FALSE(s.root().in_bounds);
  EXPECT_TRUE(s.root().dependence.masked);
  EXPECT_FALSE(s.shape->reads_anywhere);
}

TEST(BodyShape, IndicesAreNotComputedOfTheirParts) {
  const ShapedBody cast = of_body("float(2*j + i // 3)");
  EXPECT_EQ(cast.root().making, Making::CastForm);
  EXPECT_TRUE(cast.root().inputs.empty());
  EXPECT_EQ(cast.shape->domain().divisions.size(), 1u);

  const ShapedBody select = of_body("select(2*j < i, x(i, j), 0.0)");
  EXPECT_EQ(select.root().making, Making::Operation);
  ASSERT_EQ(select.root().inputs.size(), 3u);
  EXPECT_EQ((*select.shape)[select.operand(0)].making, Making::ComparedForms);
  EXPECT_EQ((*select.shape)[select.operand(2)].making, Making::Constant);
}

TEST(BodyShape, PositionsAreComparedWithNumbersWhereLanesDiffer) {
  const std::string body = "select(j < n(0), x(i, j), 0.0)";
  const ShapedBody lanes = of_body(body), number = of_body(body, false);
  const BodyNode& condition = (*lanes.shape)[lanes.operand(0)];
  EXPECT_EQ(condition.making, Making::ComparedPosition);
  EXPECT_EQ(condition.position, 0u);
  ASSERT_EQ(condition.inputs.size(), 1u);
  EXPECT_EQ((*lanes.shape)[condition.inputs[0]].making, Making::Read);
  EXPECT_EQ((*number.shape)[number.operand(0)].making, Making::Operation);
}

TEST(BodyShape, CoordinatesThatDataLimitsAreNarrowInLanes) {
  const std::string body = "z(max(min(int64(x(i, j)), 6), 0))";
  for (const bool in_lanes : {true, false}) {
    const ShapedBody s = of_body(body, in_lanes);
    const ExprPool& pool = s.program.graph.pool;
    const ExprId coordinate = pool.read_index(s.body())[0];
    EXPECT_EQ((*s.shape)[coordinate].narrow, in_lanes);
    ASSERT_EQ(s.root().inputs.size(), 1u);
    EXPECT_EQ(pool.is(s.root().inputs[0], Op::Read), in_lanes) << "what is cast";
    EXPECT_TRUE(s.root().in_bounds);
  }
}

TEST(BodyShape, JoinsAreOfTensorsInMemory) {
  const Graph graph = parse_graph(join_text({3, 1, 4, 1, 5, 9, 2, 6}, 0, 7));
  const ShapedBody joined(plain(graph)), apart(plain(graph), {}, false);
  EXPECT_EQ(joined.root().making, Making::Join);
  ASSERT_TRUE(joined.root().join);
  EXPECT_EQ(joined.root().join->reads.size(), 8u);
  EXPECT_TRUE(joined.root().inputs.empty());
  EXPECT_EQ(apart.root().making, Making::Operation);
}

TEST(BodyShape, InstancesAlongTheLastAxisAreContiguous) {
  Program p =
      vectorize(plain(parse_graph("def f(float(40, 4) x, float(9) z) -> (y) { y(i, c) = x(i, c) * "
                                  "z(2*c) where i in 0:40, c in 0:4 }")),
                0, 0, 8);
  const ShapedBody s(unroll(std::move(p), 0, 1, 4));
  const ExprPool& pool = s.program.graph.pool;
  const auto contiguous = [&](size_t k) {
    const ExprId read = s.operand(k);
    return s.shape->contiguous_loop(pool.read_index(read), s.places[pool.read_tensor(read)]);
  };
  EXPECT_EQ(contiguous(0), 0u);
  EXPECT_EQ(contiguous(1), std::nullopt) << "two elements a trip";
  EXPECT_EQ(s.shape->moved_by(Affine::variable(1, 2), 0), 2);
}

TEST(BodyShape, SoManyLoopsAreUnrolled) {
  const auto unrolled = [](size_t loops) {
    Builder b;
    const std::vector<int64_t> shape(loops, 2);
    std::vector<ExprId> index;
    for (size_t k = 0; k < loops; ++k) index.push_back(b.axis(k));
    const TensorId x = b.input("x", shape);
    b.output(b.stage("y", shape, loops, CombinerKind::None, read(b.graph, x, index)));
    Program p = plain(b.graph, 1);
    for (size_t k = 0; k < loops; ++k) p = unroll(std::move(p), 0, k, 2);
    const ShapedBody made(std::move(p));
  };
  EXPECT_NO_THROW(unrolled(emit::kMaxUnrolledLoops));
  EXPECT_THROW(unrolled(emit::kMaxUnrolledLoops + 1), Error);
}

}  // namespace
}  // namespace adjit::testing
