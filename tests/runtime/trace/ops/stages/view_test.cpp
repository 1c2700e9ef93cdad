// tests/runtime/trace/ops/stages/view_test.cpp -- reshapes.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "runtime/process/json.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/trace/counted.hpp"

namespace adjit::testing {
namespace {

using Shape = std::vector<int64_t>;

// The reads of a one-stage graph's body, as (op) of their index expressions.
std::vector<Op> index_ops(const Graph& graph) {
  std::vector<Op> ops;
  for (ExprId id : reachable(graph.pool, graph.stages.at(0).bodies))
    ops.push_back(graph.pool[id].op);
  return ops;
}

TEST(Reshape, KeepsRowMajorOrder) {
  for (const auto& [from, to] : std::vector<std::pair<Shape, Shape>>{{{4, 6}, {24}},
                                                                     {{24}, {2, 3, 4}},
                                                                     {{4, 6}, {3, 8}},
                                                                     {{2, 3, 4}, {6, 4}},
                                                                     {{2, 3, 4}, {2, 12}},
                                                                     {{6, 1, 4}, {1, 2, 3, 4}},
                                                                     {{4, 9}, {6, 6}},
                                                                     {{1}, {}},
                                                                     {{}, {1, 1}}}) {
    const Array x = counting(from);
    const Array y = run("reshape", {x}, R"({"shape": )" + Json(to).dump() + "}");
    expect(y, to, values(x));
  }
  EXPECT_EQ(run("reshape", {counting({2, 0})}, R"({"shape": [0, 5]})").shape, (Shape{0, 5}));
  EXPECT_EQ(run("reshape", {counting({4, 6})}, R"({"shape": [-1, 3]})").shape, (Shape{8, 3}));
  EXPECT_THROW(run("reshape", {counting({4, 6})}, R"({"shape": [5, -1]})"), Error);
  EXPECT_THROW(run("reshape", {counting({4})}, R"({"shape": [3]})"), Error);
}

TEST(Reshape, SplitsAndMergesTouchNoOtherDimension) {
  // (8, 4, 6) -> (8, 24): the first index stays an axis; the merge needs one // and one %.
  const Graph merged = trace_call("reshape", {counting({8, 4, 6})}, R"({"shape": [8, 24]})");
  const std::vector<Op> ops = index_ops(merged);
  EXPECT_EQ(std::ranges::count(ops, Op::FloorDiv), 1);
  EXPECT_EQ(std::ranges::count(ops, Op::Mod), 1);
  // Splitting needs neither.
  const Graph split = trace_call("reshape", {counting({8, 24})}, R"({"shape": [8, 4, 6]})");
  EXPECT_EQ(std::ranges::count(index_ops(split), Op::FloorDiv), 0);
  EXPECT_EQ(std::ranges::count(index_ops(split), Op::Mod), 0);
}

}  // namespace
}  // namespace adjit::testing
