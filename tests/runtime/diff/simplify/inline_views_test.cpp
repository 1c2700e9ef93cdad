// tests/runtime/diff/simplify/inline_views_test.cpp -- stages that only rename indices are read
// through.
#include <gtest/gtest.h>

#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/forwards.hpp"
#include "tests/runtime/diff/gradient_check.hpp"

namespace adjit::testing {
namespace {

TEST(Views, OfViewsComposeAndVanish) {
  Forward f;
  const TensorId x = f.input("x", {3, 4});
  const TensorId t = f.map("t", {4, 3}, [&](const Axes& i) { return f.at(x, {i[1], i[0]}); });
  const TensorId flat = f.map(
      "flat", {12}, [&](const Axes& i) { return f.at(t, {floor_div(i[0], 3), mod(i[0], 3)}); });
  const TensorId back =
      f.map("back", {4, 3}, [&](const Axes& i) { return f.at(flat, {i[0] * 3.0 + i[1]}); });
  const TensorId y =
      f.map("y", {3, 4}, [&](const Axes& i) { return f.at(back, {i[1], i[0]}) * 2.0; });
  const Graph g = f.returning({y}), s = simplify(g);
  EXPECT_EQ(s.stages.size(), 1u) << print(s);
  EXPECT_EQ(print_stage(s, s.stages[0]).find("//"), std::string::npos) << print(s);
  EXPECT_TRUE(same_values(g, s));
}

TEST(Views, ThatPadBecomePredicatesAndBoundsChecksStay) {
  Forward f;
  const TensorId x = f.input("x", {4}), index = f.input("index", {3}, DType::Int64);
  const TensorId pad = f.map("pad", {6}, [&](const Axes& i) {
    return f.at(x, {i[0] - 1.0}, both(less(number(i[0], 0), i[0]), less(i[0], number(i[0], 5))));
  });
  const TensorId y =
      f.sum("y", {4}, {3}, [&](const Axes& i) { return f.at(pad, {i[0] + i[1]}) * 0.5; });
  const TensorId slice = f.map("slice", {2}, [&](const Axes& i) { return f.at(x, {i[0] + 1.0}); });
  const TensorId z = f.map("z", {3}, [&](const Axes& i) { return f.at(slice, {f.at(index, i)}); });
  const Graph g = f.returning({y, z}), s = simplify(g);
  EXPECT_EQ(s.stages.size(), 3u) << print(
      s);  // y, slice, z: an index past the slice must still be seen
  EXPECT_TRUE(same_values(g, s));
}

TEST(Views, OutputsThatAreCopiesForward) {
  Forward f;
  const TensorId x = f.input("x", {4});
  const TensorId y = f.map("y", {4}, [&](const Axes& i) { return call(Op::Exp, f.at(x, i)); });
  const TensorId z = f.map("z", {4}, [&](const Axes& i) { return f.at(y, i); });
  const Graph s = simplify(f.returning({z, y}));
  EXPECT_EQ(s.stages.size(), 1u);
  EXPECT_EQ(s.outputs[0], s.outputs[1]);
}

TEST(Views, StoppedOnesStayBeforeDifferentiation) {
  Forward f;
  const TensorId x = f.input("x", {4});
  const TensorId y = f.map("y", {4}, [&](const Axes& i) { return f.at(x, i); });
  f.graph.stages.back().stop_gradient = true;
  const TensorId z = f.map("z", {4}, [&](const Axes& i) { return f.at(y, i) * f.at(x, i); });
  EXPECT_EQ(simplify(f.returning({z})).stages.size(), 2u);
}

TEST(Views, IndicatorsAreComputedWhereTheyAreRead) {
  for (const char* view : {"i == j ? 1.0 : 0.0", "double(t(i) == j)", "t(i) < j ? 2.0 : 5.0",
                           "j == t(i) ? x(i) : 0.0", "i * 2 + j"}) {
    const Graph g =
        parse_graph(std::string("def f(double(5) x, int64(5) t) -> (y) {\n v(i, j) = ") + view +
                    " where i in 0:5, j in 0:5\n y(i) +=! double(v(i, j)) * x(j)\n}");
    const Graph s = compact(inline_views(g));
    EXPECT_EQ(s.stages.size(), 1u) << print(s);
    EXPECT_TRUE(same_values(g, s));
  }
}

TEST(Views, OfHalfTypesAreWidenedWhereTheyAreRead) {
  const Graph g = parse_graph(
      "def f(half(4, 3) x) -> (y) {\n v(j, i) = float(x(i, j))\n y(j) +=! v(j, i) * v(j, i)\n}");
  const Graph s = compact(inline_views(g));
  EXPECT_EQ(s.stages.size(), 1u) << print(s);
  EXPECT_TRUE(same_values(g, s));
}

TEST(Views, WhatComputesIsNone) {
  for (const char* text : {"exp(x(j, i))", "x(j, i) * 2.0", "x(t(j), i)"}) {
    const Graph g = parse_graph(std::string("def f(double(4, 4) x, int64(4) t) -> (y) {\n v(i, j) "
                                            "= ") +
                                text + " where i in 0:4, j in 0:4\n y(i) +=! v(i, j)\n}");
    EXPECT_EQ(print(inline_views(g)), print(g));
  }
}

TEST(Views, ThatWouldDivideMoreOftenStay) {
  const Graph g = parse_graph(
      "def f(double(4, 6) x) -> (y) {\n v(i) = x(i // 6, i % 6) where i in 0:24\n"
      " y(i) +=! v(i + r) where i in 0:20, r in 0:4\n}");
  EXPECT_EQ(compact(inline_views(g)).stages.size(), 2u);
}

TEST(Views, WithRowsBecomePredicates) {
  const Graph g = parse_graph(
      "def f(double(9) x) -> (y) {\n v(i) = x(i) where i in 0:9, i >= 3\n"
      " y(i) = v(8 - i) + 1.0 where i in 0:9\n}");
  const Graph s = compact(inline_views(g));
  EXPECT_EQ(s.stages.size(), 1u) << print(s);
  EXPECT_TRUE(same_values(g, s));
}

TEST(Views, OperandsAndStartsAreTheOriginals) {
  const Graph g = parse_graph(
      "def f(double(3) h0, double(4) x, int64(5) t) -> (last, s) {\n h(i) = h0(i)\n z(i) = x(i)\n"
      " scan (last) = step[2](carry double(3) c = h) -> (n) { n(i) = c(i) * 2.0 }\n"
      " scatter double(4) s(t(r)) +=[drop] 1.0 from z where r in 0:5\n}");
  const Graph s = compact(inline_views(g));
  EXPECT_EQ(s.stages.size(), 2u) << print(s);
  EXPECT_TRUE(same_values(g, s));
}

}  // namespace
}  // namespace adjit::testing
