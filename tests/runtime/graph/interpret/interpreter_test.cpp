// tests/runtime/graph/interpret/interpreter_test.cpp -- the meaning of a graph.
#include "runtime/graph/interpret/interpreter.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "tests/runtime/graph/texts.hpp"

namespace adjit::graph {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Interpreter, MatrixProduct) {
  EXPECT_EQ(run_one("float(2, 3) A, float(3, 2) B", "y(i, j) +=! A(i, k) * B(k, j)",
                    {floats({2, 3}, {1, 2, 3, 4, 5, 6}), floats({3, 2}, {1, 0, 0, 1, 2, 2})}),
            (List{7, 8, 16, 17}));
}

TEST(Interpreter, RowsRestrictTheDomain) {
  EXPECT_EQ(run_one("float(3) x", "y(i) +=! x(r) where i in 0:3, r in 0:3, r <= i",
                    {floats({3}, {1, 2, 4})}),
            (List{1, 3, 7}));
  EXPECT_EQ(run_one("float(4) x",
                    "y(i) +=! x(r) where i in 0:2, r in 0:4, q = (i + r) // 2, "
                    "i + r == 2*q",
                    {floats({4}, {1, 2, 4, 8})}),
            (List{5, 10}));
}

TEST(Interpreter, ScatterModes) {
  const std::vector<Array> in{floats({4}, {1, 2, 4, 8}), longs({0, 3, 0, -1})};
  const auto scatter = [&](const std::string& mode) {
    return run_one("float(4) x, int64(4) I", "scatter float(3) y(I(i)) +=!" + mode + " x(i)", in);
  };
  EXPECT_EQ(scatter("[drop]"), (List{5, 0, 0}));
  EXPECT_EQ(scatter("[clip]"), (List{13, 0, 2}));
  EXPECT_EQ(scatter("[wrap]"), (List{7, 0, 8}));
  EXPECT_THROW(scatter(""), Error);
}

TEST(Interpreter, ScatterFromAnInitialValueAndLastWriter) {
  EXPECT_EQ(run_one("float(2) x, int64(2) I, float(3) z", "scatter float(3) y(I(i)) += x(i) from z",
                    {floats({2}, {1, 2}), longs({2, 2}), floats({3}, {10, 20, 30})}),
            (List{10, 20, 33}));
  EXPECT_EQ(run_one("float(2) x, int64(2) I", "scatter float(3) y(I(i)) = x(i)",
                    {floats({2}, {1, 2}), longs({2, 2})}),
            (List{0, 0, 2}));
  EXPECT_EQ(run_one("float(2) x, int64(2) I", "scatter float(3) y(I(i)) max=! x(i)",
                    {floats({2}, {1, 2}), longs({2, 2})}),
            (List{-kInf, -kInf, 2}));
}

const char* const kScan =
    "  scan (h, ys) = step[3%](carry float(2) c = h0, over float(2) x = X, fixed float w = W) -> "
    "(n, n) "
    "{ n(i) = c(i) * w + x(i) }";

std::vector<Array> run_scan(const std::string& mode) {
  std::string text = kScan;
  text.replace(text.find('%'), 1, mode);
  return run("float(2) h0, float(3, 2) X, float W", "h, ys", text,
             {floats({2}, {1, 0}), floats({3, 2}, {1, 2, 3, 4, 5, 6}), floats({}, {10})});
}

TEST(Interpreter, ScansForwardAndBackward) {
  const std::vector<Array> forward = run_scan("");
  EXPECT_EQ(values(forward[0]), (List{1135, 246}));
  EXPECT_EQ(values(forward[1]), (List{11, 2, 113, 24, 1135, 246}));
  const std::vector<Array> backward = run_scan(", reverse");
  EXPECT_EQ(values(backward[0]), (List{1531, 642}));
  EXPECT_EQ(values(backward[1]), (List{1531, 642, 153, 64, 15, 6}));
}

TEST(Interpreter, NestedScans) {
  EXPECT_EQ(values(run("float a, float(2, 3) X", "s",
                       "scan (s) = outer[2](carry float c = a, over float(3) row = X) -> (t) {"
                       "  scan (t) = inner[3](carry float d = c, over float x = row) -> (n) {"
                       "    n = d * 2 + x } }",
                       {floats({}, {1}), floats({2, 3}, {1, 0, 0, 0, 0, 1})})[0]),
            List{97});
}

TEST(Interpreter, WrongInputsAreNamed) {
  const Graph graph = parse_graph("def main(float(3) x) -> (y) { y(i) = x(i) }");
  const auto code = [&](std::vector<Array> inputs) {
    try {
      interpret(graph, inputs);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::Internal;
  };
  EXPECT_EQ(code({}), ErrorCode::Shape);
  EXPECT_EQ(code({floats({4}, {1, 2, 3, 4})}), ErrorCode::Shape);
  EXPECT_EQ(code({Array::zeros(DType::Float64, {3})}), ErrorCode::DType);
}

TEST(Interpreter, InputsAndConstantsMayBeOutputs) {
  const std::vector<Array> out =
      run("float(1) x", "x, c, x", "const int32(2) c = [4, -5]", {floats({1}, {3})});
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(values(out[1]), (List{4, -5}));
  EXPECT_EQ(values(out[2]), List{3});
}

}  // namespace
}  // namespace adjit::graph
