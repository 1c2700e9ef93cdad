// tests/autosched/program/print_test.cpp -- a program as readable text.
#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

using Steps = std::vector<int64_t>;

Program started(std::string_view text) { return plain(parse_graph(text)); }

TEST(PrintProgram, LoopsOfOneAxisAreNumberedFromOutside) {
  Program p = vectorize(tile(plain(matmul_graph(30, 40, 6)), 0, 0, Steps{12, 4}), 0, 1, 16);
  EXPECT_EQ(print(p), R"(kernel 0: float(30, 40) C (argument)
  serial i0 in 0:30:12
    serial i1 in 0:12:4
      serial i2 in 0:4
        serial j0 in 0:40:16
          serial r_k in 0:6
            vector j1 in 0:16
              C(i, j) +=! A(i, r_k) * B(r_k, j)
                where i = i0 + i1 + i2, j = j0 + j1
)");
}

// The axis has 5 points, the vector 8 lanes.
TEST(PrintProgram, LanesToSpareAreInTheRange) {
  EXPECT_EQ(print(vectorize(plain(matmul_graph(2, 5, 3)), 0, 1, 8)),
            R"(kernel 0: float(2, 5) C (argument)
  serial i in 0:2
    serial r_k in 0:3
      vector j in 0:8
        C(i, j) +=! A(i, r_k) * B(r_k, j)
)");
}

TEST(PrintProgram, AttachedNestsSayWhatTheyCompute) {
  Program p = started(R"(
def f(float(20) x) -> (y) {
  e(i) = exp(x(i)) where i in 0:20
  y(i, j) = e(i + j) where i in 0:16, j in 0:5
}
)");
  p = compute_at(tile(std::move(p), 1, 0, Steps{4}), 0, 1, 1);
  EXPECT_EQ(print(p), R"(kernel 0: float(16, 5) y (argument)
  serial i0 in 0:16:4
    with e(i0 : i0 + 8) (local, 32 bytes)
      serial i1 in 0:8
        e(i) = exp(x(i))
          where i = i0 + i1
    serial i1 in 0:4
      serial j in 0:5
        y(i, j) = e(i + j)
          where i = i0 + i1
)");
}

TEST(PrintProgram, AxesKeepClearOfNamesOfTensors) {
  EXPECT_EQ(print(started("def f(float(3) i) -> (j) { j(i_) = i(i_) where i_ in 0:3 }")),
            R"(kernel 0: float(3) j (argument)
  serial i_ in 0:3
    j(i_) = i(i_)
)");
}

// "where" is a word of the notation: the tensor has one name in heads and statements.
TEST(PrintProgram, TensorsHaveTheNamesOfTheirStatements) {
  Builder b;
  const TensorId x = b.input("x", {3});
  const TensorId where = b.stage("where", {3}, 1, CombinerKind::None, b.at(x, {b.axis(0)}));
  b.output(where);
  const std::string text = print(plain(b.graph));
  const std::string name = graph::printed_tensor_names(b.graph)[where.value];
  EXPECT_NE(name, "where");
  EXPECT_EQ(text, "kernel 0: float(3) " + name + " (argument)\n  serial i in 0:3\n    " + name +
                      "(i) = x(i)\n");
}

TEST(PrintProgram, ConditionsStandWithTheStatement) {
  EXPECT_EQ(print(started("def f(float(4, 4) a) -> (s) {\n"
                          "  s(i) +=! a(i, r_j) where i in 0:4, r_j in 0:4, r_j <= i\n}")),
            R"(kernel 0: float(4) s (argument)
  serial i in 0:4
    serial r_j in 0:4
      s(i) +=! a(i, r_j)
        where i >= r_j
)");
}

TEST(PrintProgram, LongStatementsAreReadInTheGraph) {
  std::string sum = "x(i)";
  for (int k = 0; k < 60; ++k) sum += " + exp(x(i) * " + std::to_string(k + 2) + ".0)";
  EXPECT_EQ(print(started("def f(float(3) x) -> (y) { y(i) = " + sum + " where i in 0:3 }")),
            R"(kernel 0: float(3) y (argument)
  serial i in 0:3
    y(i) = 180 operations on x
)");
}

TEST(PrintProgram, ScansPrintTheProgramOfAStep) {
  EXPECT_EQ(print(started(R"(
def f(float(2) h0, float(5, 2) xs) -> (h) {
  scan (h) = step[5, reverse](carry float(2) c = h0, over float(2) x = xs) -> (n) {
    n(i) = c(i) + x(i) where i in 0:2
  }
}
)")),
            R"(kernel 0: float(2) h0_start (workspace)
  serial i in 0:2
    h0_start(i) = h0(i)
kernel 1: float(2) h (argument), 5 steps backwards
  kernel 0: float(2) n (argument)
    serial i in 0:2
      n(i) = c(i) + x(i)
)");
}

TEST(PrintProgram, RowsWithRoomBehindThemSayHowFarApartTheyLie) {
  const Program p = pad_leading_dimension(started(R"(
def f(float(4, 16) x) -> (y) {
  e(i, j) = exp(x(i, j)) where i in 0:4, j in 0:16
  y(i) +=! e(i, r_j) where i in 0:4, r_j in 0:16
}
)"),
                                          0, 8);
  EXPECT_TRUE(print(p).starts_with("kernel 0: float(4, 16) e (workspace, rows 24 apart)\n"))
      << print(p);
}

TEST(PrintProgram, ScalarsHaveNoLoops) {
  EXPECT_EQ(print(started("def f(float x) -> (y) { y() = x() * 2.0 }")),
            "kernel 0: float y (argument)\n  y() = x() * 2.0\n");
}

}  // namespace
}  // namespace adjit::sched
