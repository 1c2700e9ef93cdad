// tests/runtime/diff/rules/transpose_access_test.cpp -- clipped, mirrored and folded reads, turned
// round.
#include "runtime/diff/rules/transpose_access.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/domain/count.hpp"
#include "runtime/graph/interpret/interpreter.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/gradient_check.hpp"
#include "tests/runtime/diff/index_values.hpp"

namespace adjit::testing {
namespace {

struct TransposeCase {
  const char* name;
  const char* index;  // of x (7), by i over 9 and r over 3; its points stay inside
};
std::ostream& operator<<(std::ostream& out, const TransposeCase& c) { return out << c.name; }

class PiecewiseReads : public ::testing::TestWithParam<TransposeCase> {
 protected:
  static Graph graph(const std::string& value) {
    return parse_graph("def f(double(7) x, double(9, 3) w) -> (y) { y(i) +=! w(i, r_k) * " + value +
                       " where i in 0:9, r_k in 0:3 }");
  }
  static std::string read() { return std::string("x(") + GetParam().index + ")"; }
};

// Each point of the stage is met once, at the element that it reads, and at no other.
TEST_P(PiecewiseReads, TurnIntoGathersWithoutAWastedPoint) {
  Graph f = graph(read());
  const Domain domain = f.stages[0].domain;
  const Access* access = nullptr;
  std::vector<Access> found;
  for (ExprId id : reachable(f.pool, f.stages[0].bodies))
    if (f.pool.is(id, Op::Read) && f.pool.read_tensor(id) == f.inputs[0])
      found.push_back({id, ExprId{}, f.pool.constant(1, DType::Float64)});
  ASSERT_EQ(found.size(), 1);
  access = found.data();
  std::vector<int64_t> readers(7, 0);
  for_each_point(domain, [&](const std::vector<int64_t>& point) {
    ++readers[static_cast<size_t>(value_at(f.pool, f.pool.read_index(access->read)[0], point))];
  });
  std::vector<Contribution> contributions;
  Restrictions restrictions(f.pool, domain);
  turn_round(f, restrictions, *access, 0, contributions);
  int64_t points = 0;
  for (const Contribution& c : contributions) {
    EXPECT_FALSE(c.scatter);
    points += *count_points(c.domain);
    for_each_point(c.domain, [&](const std::vector<int64_t>& point) {
      --readers[static_cast<size_t>(point[0])];
    });
  }
  EXPECT_EQ(points, 9 * 3);
  for (int64_t left : readers) EXPECT_EQ(left, 0);
}

TEST_P(PiecewiseReads, AgreeWithDifferences) {
  const Graph f = graph("sin(" + read() + ")");
  ReverseOptions options;
  options.wrt = {0, 1};
  options.outputs = {0};
  const Graph derived = vjp(f, options);
  for (const Stage& stage : derived.stages)
    EXPECT_NE(stage.kind, StageKind::Scatter) << print(derived);
  EXPECT_TRUE(check_gradients(f));
}

INSTANTIATE_TEST_SUITE_P(
    Indices, PiecewiseReads,
    ::testing::Values(
        TransposeCase{"clip", "min(max(i + r_k - 2, 0), 6)"},
        TransposeCase{"clip_by_select", "i + r_k < 2 ? 0 : i + r_k < 8 ? i + r_k - 2 : 6"},
        TransposeCase{"reflect", "6 - abs(6 - abs(i + r_k - 2))"},
        TransposeCase{"symmetric",
                      "i + r_k < 2 ? 1 - i - r_k : i + r_k < 9 ? i + r_k - 2 : 15 - i - r_k"},
        TransposeCase{"wrap", "(i + r_k - 2) % 7"},
        TransposeCase{"wrap_by_select",
                      "i + r_k < 2 ? i + r_k + 5 : i + r_k < 9 ? i + r_k - 2 : i + r_k - 9"},
        TransposeCase{"fold", "min(i, 8 - i) + r_k"},
        TransposeCase{"periodic_mirror", "abs((3 * i + r_k) % 12 - 6)"},
        TransposeCase{"clipped_half", "min((i + r_k) // 2, 3)"},
        TransposeCase{"sign", "3 + sign(i - 4) + r_k - 1"},
        TransposeCase{"one_of_two", "i == 4 ? 0 : i != r_k ? min(i, 6) : 1"},
        TransposeCase{"larger_of_axes", "min(max(i, 2 * r_k), 6)"},
        TransposeCase{"and_or", "(i < 3 && r_k < 2) || i == 8 ? r_k : 3 + r_k"}),
    [](const auto& info) { return std::string(info.param.name); });

// What a condition on indices excludes is no point, however it is written.
TEST(PiecewiseGuards, AreRows) {
  for (const auto& [condition, points] :
       {std::pair("abs(i - r_k) <= 2", 3 + 4 + 5 + 5 + 5 + 4 + 3),
        std::pair("i == 0 || i == 6 || r_k == 3", 7 + 7 + 5), std::pair("max(i, r_k) < 4", 16),
        std::pair("!(min(i, r_k) < 2)", 25)}) {
    Graph f = parse_graph(std::string("def f(double(7) x) -> (y) { y(i) +=! (") + condition +
                          " ? x(r_k) : 0.0) where i in 0:7, r_k in 0:7 }");
    ReverseOptions options;
    options.wrt = {0};
    options.outputs = {0};
    options.clean = false;
    std::vector<Contribution> contributions;
    Access access;
    for (ExprId id : reachable(f.pool, f.stages[0].bodies)) {
      if (f.pool.is(id, Op::Select)) access.condition = f.pool.operand(id, 0);
      if (f.pool.is(id, Op::Read)) access.read = id;
    }
    access.value = f.pool.constant(1, DType::Float64);
    Restrictions restrictions(f.pool, f.stages[0].domain);
    turn_round(f, restrictions, access, 0, contributions);
    int64_t found = 0;
    for (const Contribution& c : contributions) found += *count_points(c.domain);
    EXPECT_EQ(found, points) << condition;
    EXPECT_TRUE(check_gradients(f)) << condition;
  }
}

// Data in one coordinate scatters; so does an index with more pieces than are made.
TEST(PiecewiseReads, WhatIsNotPiecewiseAffineScatters) {
  const Graph f = parse_graph(
      "def f(double(7, 7) x, int64(5) I) -> (y) { y(i, j) = x(min(max(I(i), 0), 6), max(j - 1, 0)) "
      "where i in 0:5, j in 0:7 }");
  const Graph derived = vjp(f, {{0}, {0}});
  EXPECT_EQ(std::ranges::count(derived.stages, StageKind::Scatter, &Stage::kind), 1)
      << print(derived);
  EXPECT_TRUE(check_gradients(f));
}

}  // namespace
}  // namespace adjit::testing
