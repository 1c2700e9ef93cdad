// tests/runtime/diff/checks/data_checks_test.cpp -- what is checked, where, and what the message
// says.
#include "runtime/diff/checks/data_checks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <tuple>

#include "runtime/diff/conditions/prefix_reduction.hpp"
#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/domain/count.hpp"
#include "runtime/graph/interpret/interpreter.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

Array indices(std::vector<int64_t> values) {
  Array a = Array::zeros(DType::Int64, {static_cast<int64_t>(values.size())});
  std::memcpy(a.bytes.data(), values.data(), values.size() * sizeof(int64_t));
  return a;
}

// Array::at gives a double, which does not hold kNowhere.
int64_t number(const Array& scalar) {
  int64_t value = 0;
  std::memcpy(&value, scalar.bytes.data(), sizeof(value));
  return value;
}

CheckedGraph checked(const char* source, bool nan = false) {
  CheckedGraph c = with_data_checks(parse_graph(source), nan);
  verify(c.graph);
  return c;
}

// The message of the checks' stages, run where no read leaves memory; "" when all is in range.
std::string finding(const CheckedGraph& checked, const std::vector<Array>& inputs,
                    bool nan = false) {
  Graph alone = checked.graph;
  alone.outputs.erase(alone.outputs.begin(),
                      alone.outputs.end() - static_cast<long>(2 * checked.checks.size()));
  const std::vector<Array> found = interpret(compact(alone), inputs);
  std::vector<int64_t> numbers;
  for (const Array& scalar : found) numbers.push_back(number(scalar));
  try {
    raise_failed_checks(checked.checks, numbers);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), nan ? ErrorCode::Invalid : ErrorCode::Bounds);
    return e.what();
  }
  return "";
}

constexpr const char* kRows = R"(
def rows(float(5, 8) x, int64(4) i) -> (y, z) {
  y(k, c) = x(i(k), c) where k in 0:4
  z(k, c) = x(i(k), 7 - c) where k in 0:4
})";

TEST(DataChecks, ARowIsCheckedOnceForAllReaders) {
  const CheckedGraph c = checked(kRows);
  ASSERT_EQ(c.checks.size(), 1u);
  EXPECT_EQ(c.checks[0].extents, (std::vector<int64_t>{4}));
  EXPECT_EQ(c.checks[0].extent, 5);
  const Array x = Array::zeros(DType::Float32, {5, 8});
  EXPECT_EQ(finding(c, {x, indices({0, 4, 2, 0})}), "");
  const std::string message = finding(c, {x, indices({0, 1, 5, -7})});
  EXPECT_NE(message.find("index 5 of dimension 0 is out of range 0:5"), std::string::npos)
      << message;
  EXPECT_NE(message.find("from <text>:3 (rows) at i = 2"), std::string::npos) << message;
  EXPECT_NE(finding(c, {x, indices({-1, 1, 0, 0})}).find("index -1 "), std::string::npos);
}

// An index along the reduction of a triangle is looked at once for each of its points, and where no
// point of the triangle has it, not at all.
TEST(DataChecks, RowsAreProjected) {
  for (const auto& [row, first, last] :
       {std::tuple("r <= i", 0, 15), std::tuple("r < i", 0, 14), std::tuple("r >= i + 3", 3, 15)}) {
    const CheckedGraph c = checked((std::string("def f(float(5) x, int64(16) j) -> (y) { y(i) +=! "
                                                "x(j(r)) where i in 0:16, r in 0:16, ") +
                                    row + " }")
                                       .c_str());
    ASSERT_EQ(c.checks.size(), 1u);
    EXPECT_EQ(c.checks[0].extents, (std::vector<int64_t>{16}));
    const Array x = Array::zeros(DType::Float32, {5});
    for (int k = 0; k < 16; ++k) {
      std::vector<int64_t> at(16, 2);
      at[static_cast<size_t>(k)] = 9;
      EXPECT_EQ(finding(c, {x, indices(at)}).empty(), k < first || k > last) << row << " " << k;
    }
  }
}

// A scan that reads x(i(t)) in its steps: neither its gradient nor what checks that one walks pairs
// of steps.
TEST(DataChecks, GradientsOfScansAreLinear) {
  const auto steps = [](int64_t n) {
    const std::string size = std::to_string(n);
    const Graph f = parse_graph("def f(double h, double(" + size + ") X, int64(" + size +
                                ") I) -> (last) {\n  scan (last) = step[" + size +
                                "](carry double c = h, over int64 at = I, fixed double(" + size +
                                ") x = X) -> (y) {\n    y() = sin(c() * 0.9 + x(at()))\n  }\n}");
    const CheckedGraph c = with_data_checks(linear_scans_as_prefixes(vjp(f, {{0, 1}, {0}})));
    int64_t total = 0;
    for (const Stage& stage : c.graph.stages)
      total += stage.kind == StageKind::Scan ? stage.scan->trips
               : prefix_reduction(c.graph.pool, stage)
                   ? c.graph.info(stage.results[0]).element_count()
                   : *count_points(stage.domain);
    return total;
  };
  EXPECT_LE(steps(128), 2 * steps(64) + 64);
}

TEST(DataChecks, WhatIsProvenIsNotChecked) {
  EXPECT_TRUE(checked(R"(
def f(float(5) x, int64(4) i) -> (a, b, c, d) {
  a(k) = x(min(max(i(k), 0), 4)) where k in 0:4
  b(k) = x(i(k) % 5) where k in 0:4
  c(k) = x(i(k) where 0 <= i(k) && i(k) < 5) where k in 0:4
  d(k) = select(0 <= i(k) && i(k) < 5, x(i(k)), 0.0) where k in 0:4
})")
                  .checks.empty());
  EXPECT_TRUE(
      checked("def g(float(5) x) -> (y) { y(k) = x(k + 2) where k in 0:3 }").checks.empty());
}

// An index that goes through floats is proven point by point; past the budget it is checked while
// the program runs, as if it depended on data.
TEST(DataChecks, AnIndexThroughFloatsThatIsTooMuchToProve) {
  const auto source = [](int64_t points, const char* scale) {
    return "def f(float(4) x) -> (y) { y(i) = x(int64(floor(double(i) / " + std::string(scale) +
           "))) where i in 0:" + std::to_string(points) + " }";
  };
  EXPECT_TRUE(checked(source(1000, "250.0").c_str()).checks.empty());
  const CheckedGraph c = checked(source(4'000'000, "1000000.0").c_str());
  ASSERT_EQ(c.checks.size(), 1u);
  EXPECT_EQ(c.checks[0].extent, 4);
  // Out of range at a corner of the box is found at once.
  EXPECT_THROW(verify(parse_graph(source(4'000'000, "999999.0").c_str())), Error);
}

TEST(DataChecks, OnlyWhereItIsEvaluated) {
  const CheckedGraph c = checked(R"(
def f(float(5) x, int64(4) i) -> (y) {
  y(k) = select(i(k) < 9, x(i(k)), 0.0) where k in 0:4, k >= 1
})");
  ASSERT_EQ(c.checks.size(), 1u);
  const Array x = Array::zeros(DType::Float32, {5});
  EXPECT_EQ(finding(c, {x, indices({6, 1, 9, 100})}), "");
  EXPECT_NE(finding(c, {x, indices({6, 1, 9, 8})}).find("index 8 "), std::string::npos);
}

TEST(DataChecks, TargetsOfScatters) {
  const char* source = R"(
def f(float(4) x, int64(4) i) -> (h) {
  scatter float(10) h(i(k)) += x(k) where k in 0:4
})";
  const CheckedGraph c = checked(source);
  ASSERT_EQ(c.checks.size(), 1u);
  EXPECT_NE(c.checks[0].subject.find("the write to h"), std::string::npos) << c.checks[0].subject;
}

TEST(DataChecks, InsideTheStepsOfAScan) {
  const CheckedGraph c = checked(R"(
def f(float(5) x, int64(4) i, float c0) -> (c, ys) {
  scan (c, ys) = step[4](carry float s = c0, over int64 n = i, fixed float(5) w = x) -> (t, t) {
    t() = s() + w(n())
  }
})");
  ASSERT_EQ(c.checks.size(), 1u);
  EXPECT_EQ(c.checks[0].axes, (std::vector<std::string>{"step"}));
  EXPECT_EQ(c.graph.stages[0].scan->stacked, 3u);
}

// x of 5 elements, followed from i0 on until an element is negative: i = x[i].
TEST(DataChecks, AConditionalLoopStopsAtTheFirstIndexOutOfRange) {
  const CheckedGraph c = checked(R"(
def f(int64(5) x, int64 i0, bool g0) -> (i, g) {
  scan (i, g) = follow[while](carry int64 n = i0, carry bool going = g0, fixed int64(5) w = x) -> (t, more) {
    t() = w(n())
    more() = t() >= 0
  }
})");
  ASSERT_EQ(c.checks.size(), 1u);
  const auto run = [&](std::vector<double> next) {
    const std::vector<Array> inputs{Array::of(DType::Int64, {5}, next),
                                    Array::of(DType::Int64, {}, std::vector<double>{0}),
                                    Array::of(DType::Bool, {}, std::vector<double>{1})};
    return finding(c, inputs);
  };
  EXPECT_EQ(run({2, -1, 4, 0, 1}), "");
  // The interpreter reads where the index points: the loop is run to where the check is seen.
  EXPECT_THROW(run({2, -1, 7, 0, 1}), Error);
  const Scan& scan = *c.graph.stages[c.graph.stages.size() - 1].scan;
  EXPECT_EQ(scan.carries, 4u);
}

TEST(DataChecks, AnIndexOfAnIndex) {
  const CheckedGraph c = checked(R"(
def f(float(5) x, int64(4) i, int64(3) j) -> (y) {
  y(k) = x(i(j(k))) where k in 0:3
})");
  ASSERT_EQ(c.checks.size(), 2u);
}

TEST(DataChecks, NothingToReadNothingToCheck) {
  EXPECT_TRUE(checked("def f(float(5) x, int64(0) i) -> (y) { y(k) = x(i(k)) where k in 0:0 }")
                  .checks.empty());
}

// The message of a graph whose NaNs are looked for, on inputs of these elements.
std::string nan_finding(const char* source, const std::vector<std::vector<double>>& elements) {
  const CheckedGraph c = checked(source, true);
  std::vector<Array> inputs;
  for (size_t k = 0; k < elements.size(); ++k) {
    const TensorInfo& info = c.graph.info(c.graph.inputs[k]);
    inputs.push_back(Array::of(info.dtype, info.shape, elements[k]));
  }
  return finding(c, inputs, true);
}

void expect_in(const std::string& text, const std::vector<const char*>& parts) {
  for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << text;
}

constexpr const char* kChain = R"(
def chain(float(2, 3) x) -> (z) {
  y(i, j) = log(x(i, j)) where i in 0:2, j in 0:3
  z(i) +=! y(i, j) where i in 0:2, j in 0:3
})";

TEST(NaNChecks, TheStageThatMadeItAndTheFirstElement) {
  EXPECT_EQ(nan_finding(kChain, {{1, 2, 3, 4, 5, 0}}), "");  // an infinity is none
  const std::string text = nan_finding(kChain, {{1, 2, 3, 4, -5, -6}});
  expect_in(text, {"stage 'y'", "at i0 = 1, i1 = 1", "no input holds one"});
}

TEST(NaNChecks, OneThatCameInIsToldApart) {
  const double nan = std::nan("");
  const std::string text = nan_finding(kChain, {{1, 2, nan, 4, 5, 6}});
  expect_in(text, {"stage 'y'", "at i0 = 0, i1 = 2", "the input 'x' holds one at i0 = 0, i1 = 2"});
  EXPECT_EQ(text.find("made"), std::string::npos) << text;
  // One that no stage passes on is none of our business.
  EXPECT_EQ(
      nan_finding("def f(float(2) x) -> (y) { y(k) = select(isnan(x(k)), 0.0, x(k)) }", {{nan, 1}}),
      "");
}

TEST(NaNChecks, OnlyFloatsAreWatched) {
  EXPECT_TRUE(checked("def f(int64(3) x) -> (y) { y(k) = x(k) * 2 }", true).checks.empty());
  EXPECT_TRUE(checked("def f(float(0) x) -> (y) { y(k) = x(k) * 2.0 }", true).checks.empty());
  EXPECT_TRUE(checked(kChain).checks.empty());
}

// Two stages of a step fail in different steps: the earlier step counts, not the earlier stage.
TEST(NaNChecks, TheFirstStepOfAScanCounts) {
  constexpr const char* kForward = R"(
def f(float(4) x, float c0) -> (c, ys) {
  scan (c, ys) = step[4](carry float s = c0, over float v = x) -> (t, u) {
    u() = sqrt(v()) + s()
    t() = log(u() + v())
  }
})";
  // v = -1 at step 2: u is NaN there. Before that u + v = 0.5 - 0.5 ... stays positive.
  expect_in(nan_finding(kForward, {{1, 4, -1, 1}, {1}}), {"stage 'u'", "step = 2"});
  // s = -9 at first: log of a negative number at step 0, and only then a NaN in u.
  expect_in(nan_finding(kForward, {{1, 4, -1, 1}, {-9}}), {"stage 't'", "step = 0"});
}

TEST(NaNChecks, AReversedScanRunsFromTheEnd) {
  constexpr const char* kBackward = R"(
def f(float(4) x, float c0) -> (c, ys) {
  scan (c, ys) = step[4, reverse](carry float s = c0, over float v = x) -> (t, u) {
    u() = sqrt(v()) + s()
    t() = u() * 2.0
  }
})";
  expect_in(nan_finding(kBackward, {{-1, 1, -1, 1}, {1}}), {"stage 'u'", "step from the end = 1"});
}

TEST(NaNChecks, ALoopStopsAtIt) {
  const std::string text = nan_finding(R"(
def f(float c0, bool g0) -> (c, g) {
  scan (c, g) = follow[while](carry float s = c0, carry bool going = g0) -> (t, more) {
    t() = sqrt(s()) - 1.0
    more() = t() > -1000.0 || isnan(t())
  }
})",
                                       {{9}, {1}});
  expect_in(text, {"stage 't'"});
}

}  // namespace
}  // namespace adjit::testing
