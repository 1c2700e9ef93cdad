// tests/runtime/diff/simplify/loops/time_axis_test.cpp -- time as one more axis of a step's stage.
#include "runtime/diff/simplify/loops/time_axis.hpp"

#include <gtest/gtest.h>

#include "tests/rooms.hpp"
#include "tests/runtime/diff/index_values.hpp"

namespace adjit::testing {
namespace {

// i in 0:4, r in 0:5 with r <= i, (i + r) // 2 <= 2 and, if asked, i == 2 r.
Domain triangle(bool line) {
  Domain domain;
  domain.extents = {4, 5};
  domain.output_rank = 1;
  domain.divisions = {{Affine::variable(0) + Affine::variable(1), 2}};
  domain.inequalities = {Affine::variable(0) - Affine::variable(1),
                         Affine(2) - Affine::variable(2)};
  if (line) domain.equalities = {Affine::variable(0) - Affine::variable(1, 2)};
  return domain;
}

TEST(TimeAxis, EveryStepHasThePointsOfTheDomain) {
  constexpr int64_t kTrips = 3;
  for (const bool line : {false, true})
    for (const bool reduced : {false, true}) {
      const Domain step = triangle(line);
      const size_t at = reduced ? 1 : 0;
      const Domain all = with_time_axis(step, at, kTrips, reduced);
      EXPECT_EQ(all.output_rank, reduced ? 1u : 2u);
      EXPECT_EQ(all.extents[at], kTrips);
      std::vector<std::vector<int64_t>> expected, found;
      for (int64_t t = 0; t < kTrips; ++t)
        for_each_point(step, [&](std::vector<int64_t> point) {
          point.insert(point.begin() + static_cast<long>(at), t);
          expected.push_back(point);
        });
      for_each_point(all, [&](const std::vector<int64_t>& point) { found.push_back(point); });
      std::ranges::sort(expected);
      EXPECT_EQ(found, expected);
      EXPECT_FALSE(expected.empty());
    }
}

TEST(TimeAxis, ReadsOfWhatIsSlicedTakeTheSliceOfTime) {
  Graph step, graph;
  const TensorId x = add_input(step, "x", DType::Float64, {4}),
                 w = add_input(step, "w", DType::Float64, {4, 5});
  const TensorId xs = add_input(graph, "xs", DType::Float64, {3, 4}),
                 ws = add_input(graph, "ws", DType::Float64, {4, 5});
  const ExprId i = step.pool.axis(0), r = step.pool.axis(1);
  const ExprId one[] = {i}, two[] = {i, r};
  const ExprId inside = step.pool.make(Op::Lt, {r, step.pool.constant_int(2)});
  const ExprId body = step.pool.mul(read(step, x, one, inside), read(step, w, two));
  const auto outside = [&](TensorId tensor) {
    return tensor == x ? Outside{xs, true} : Outside{ws, false};
  };
  ExprPool& pool = graph.pool;
  const auto expected = [&](ExprId time, ExprId row, ExprId column) {
    const ExprId slice[] = {time, row}, whole[] = {row, column};
    const ExprId guard = pool.make(Op::Lt, {column, pool.constant_int(2)});
    return pool.mul(read(graph, xs, slice, guard), read(graph, ws, whole));
  };
  EXPECT_EQ(over_time_axis(step, graph, body, 0, outside),
            expected(pool.axis(0), pool.axis(1), pool.axis(2)));
  EXPECT_EQ(over_time_axis(step, graph, body, 1, outside),
            expected(pool.axis(1), pool.axis(0), pool.axis(2)));
}

}  // namespace
}  // namespace adjit::testing
