// tests/jit/emit/body/body_test.cpp -- expressions: each value once, in the loop in which it is
// known, and right at every point.
#include "jit/emit/body/body.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

TEST(Body, SharedValuesAreComputedOnce) {
  const Graph graph = parse_graph(
      "def main(float(40) x) -> (y) { y(i) = let s = sqrt(abs(x(i))); s * s + s where i in 0:40 }");
  EXPECT_EQ(occurrences(checked_ir(plain(graph, 1)), "call float @llvm.sqrt"), 1u);
}

TEST(Body, InstancesShareWhatDoesNotDependOnThem) {
  const Graph graph = parse_graph(
      "def main(float(8) x, float(16) z) -> (y) { y(i, j) = sqrt(abs(z(j))) * x(i) where i in 0:8, "
      "j "
      "in 0:16 }");
  const std::string ir = checked_ir(vectorize(unroll(plain(graph, 1), 0, 0, 4), 0, 1, 8));
  EXPECT_EQ(occurrences(ir, "call <8 x float> @llvm.sqrt"), 1u);
  EXPECT_EQ(occurrences(ir, "store <8 x float>"), 4u);
}

TEST(Body, ValuesOfOuterLoopsStandOutsideInnerOnes) {
  const Graph graph = parse_graph(
      "def main(float(5) x) -> (y) { y(i, j) = sqrt(abs(x(i))) where i in 0:5, j in 0:9 }");
  const std::string ir = checked_ir(plain(graph, 1));
  ASSERT_EQ(occurrences(ir, "call float @llvm.sqrt"), 1u);
  // Blocks are printed in the order of creation: the outer loop, behind it, the inner loop.
  const size_t inner =
      ir.find("\nloop1:") == std::string::npos ? ir.rfind("\nloop") : ir.find("\nloop1:");
  EXPECT_LT(ir.find("llvm.sqrt"), inner);
}

TEST(Body, ConditionsThatRangesDecideCostNothing) {
  const Graph graph = parse_graph(
      "def main(float(12) x) -> (y) { y(i) = (i < 12 && 0 <= i) ? x(i) : 5.0 where i in 0:12 }");
  EXPECT_EQ(occurrences(checked_ir(plain(graph, 1)), "icmp"), 1u) << "the loop's own";
}

TEST(Body, ConditionsBetweenAxes) {
  for (const char* condition : {"i < j", "i <= j", "i == j", "i != j", "i > j", "2 * i == j + 3",
                                "i // 3 == j % 4", "i - j < -3", "i != 4", "(i + j) % 5 < 2"}) {
    const Graph graph = parse_graph(std::string("def main(float(9, 13) x) -> (y) { y(i, j) = (") +
                                    condition + ") ? x(i, j) : -x(i, j) }");
    SCOPED_TRACE(condition);
    checked_ir(plain(graph, 1));
    checked_ir(vectorize(plain(graph, 1), 0, 1, 8));
    checked_ir(vectorize(unroll(plain(graph, 1), 0, 0, 2), 0, 1, 4));
    checked_ir(vectorize(reorder(plain(graph, 1), 0, std::vector<size_t>{1, 0}), 0, 0, 4));
  }
}

TEST(Body, AxesAsNumbers) {
  const Graph graph = parse_graph(
      "def main() -> (a, b, c, d) {\n"
      " a(i, j) = 100 * i - 3 * j + 7 where i in 0:5, j in 0:11\n"
      " b(i, j) = float((i * 4 + j) // 3) where i in 0:5, j in 0:11\n"
      " c(i, j) = int32(i - j) * int32(j) where i in 0:5, j in 0:11\n"
      " d(i, j) = (3 * i - 2 * j) % 7 + (i - j) // 2 where i in 0:5, j in 0:11\n}");
  Program program = plain(graph, 1);
  checked_ir(program);
  for (size_t s = 0; s < 4; ++s) program = vectorize(std::move(program), s, 1, 8);
  checked_ir(program);
  const std::string floats = EmittedProgram(program).ir(1);  // of b, from 32 bits
  EXPECT_EQ(occurrences(floats, "sitofp <8 x i32>"), occurrences(floats, "sitofp"));
  EXPECT_GT(occurrences(floats, "sitofp <8 x i32>"), 0u);
  checked_ir(unroll(plain(graph, 1), 0, 0, 3));
}

// Labels of 64 bits: what no position is compares as such.
TEST(Body, PositionsAgainstNumbers) {
  for (const char* condition : {"j == L(i)", "L(i) == j", "j != L(i)", "j < L(i)", "L(i) < j",
                                "j <= L(i)", "L(i) <= j - 3"}) {
    const Graph graph =
        parse_graph("def main(int64(9) L) -> (y) { y(i, j) = " + std::string(condition) +
                    " ? 1.0 : 2.0 where i in 0:9, j in 0:21 }");
    const double far = 1099511627776.0, wide = 2147483648.0;
    const std::vector<Array> inputs{
        Array::of(DType::Int64, {9},
                  std::vector<double>{0, 20, -3, 21, far + 5, -far - 5, wide, wide - 1, -wide})};
    const Program program = vectorize(plain(graph, 1), 0, 1, 8);
    EXPECT_EQ(check_emitted(program, inputs), "") << condition;
    EXPECT_EQ(EmittedProgram(program).ir().find("<8 x i64>"), std::string::npos) << condition;
  }
}

// A number that is only read where lanes are live is a vector.
TEST(Body, PositionsAgainstGuardedNumbers) {
  const Graph graph = parse_graph(
      "def main(int64(5) L) -> (y) { y(i, j) = (0 <= i - 1 && i - 1 < 5 ? j == L(i - 1) : 0 == 1)"
      " ? 1.0 : 2.0 where i in 0:7, j in 0:21 }");
  const std::vector<Array> inputs{
      Array::of(DType::Int64, {5}, std::vector<double>{3, 0, 20, -7, 5})};
  EXPECT_EQ(check_emitted(vectorize(plain(graph, 1), 0, 1, 8), inputs), "");
}

// Index arithmetic of bodies wraps, as all integers do; that of reads never does.
TEST(Body, AxesInArithmeticThatWraps) {
  const Graph graph = parse_graph(
      "def main() -> (a, b) {\n"
      " a(i) = i * 6364136223846793005 + 1442695040888963407 where i in 0:19\n"
      " b(i) = (i * 9223372036854775807 + i) // 3 where i in 0:19\n}");
  EXPECT_EQ(check_emitted(plain(graph, 1), {}), "");
  EXPECT_EQ(check_emitted(vectorize(plain(graph, 1), 0, 0, 8), {}), "");
}

TEST(Body, SelectsTakeOneSide) {
  const Graph graph = parse_graph(
      "def main(float(20) x) -> (y) { y(i) = x(i) > 0.0 ? 1.0 / x(i) : (x(i) == 0.0 ? 7.0 : "
      "log(x(i)) "
      "== 0.0 ? 3.0 : -1.0) }");
  checked_ir(plain(graph, 1));
  checked_ir(vectorize(plain(graph, 1), 0, 0, 8));
}

// A stage with several results, one of them equal in all lanes.
TEST(Body, SeveralResultsOfOneStage) {
  Builder b;
  ExprPool& p = b.graph.pool;
  const TensorId x = b.input("x", {6, 19});
  const ExprId value = b.at(x, {b.axis(0), b.axis(1)});
  Domain domain;
  domain.extents = {6, 19};
  domain.output_rank = 2;
  b.graph.outputs = add_compute(
      b.graph, "t", domain, {},
      {p.neg(value), p.cast(b.axis(0), DType::Float64),
       p.make(Op::Lt, {value, p.constant(0, DType::Float32)}), p.constant_int(3, DType::UInt8)});
  checked_ir(plain(b.graph, 1));
  checked_ir(vectorize(plain(b.graph, 1), 0, 1, 8));
  checked_ir(vectorize(unroll(plain(b.graph, 1), 0, 0, 4), 0, 1, 4));
}

// No recursion over depth: a chain of 20,000 operations.
TEST(Body, DeepExpressions) {
  Builder b;
  const TensorId x = b.input("x", {4});
  ExprId value = b.at(x, {b.axis(0)});
  const ExprId half = b.graph.pool.constant(0.5, DType::Float32);
  for (int k = 0; k < 10000; ++k) {
    value = b.graph.pool.mul(value, half);
    value = b.graph.pool.add(value, half);
  }
  b.output(b.stage("y", {4}, 1, CombinerKind::None, value));
  const Program program = plain(b.graph, 1);
  const EmittedKernel kernel =
      emit_kernel(program, 0, std::vector<TensorLayout>{{{1}}, {{1}}}, TargetFeatures{}, "deep");
  EXPECT_GE(kernel.module->getFunction("deep")->getInstructionCount(), 20000u);
}

TEST(Body, TooManyUnrolledLoopsAreRefused) {
  Builder b;
  std::vector<int64_t> shape(9, 2);
  const TensorId x = b.input("x", shape);
  std::vector<ExprId> index;
  for (size_t k = 0; k < 9; ++k) index.push_back(b.axis(k));
  b.output(b.stage("deep_tile", shape, 9, CombinerKind::None, read(b.graph, x, index)));
  Program program = plain(b.graph, 1);
  for (size_t k = 0; k < 9; ++k) program = unroll(std::move(program), 0, k, 2);
  expect_refused([&] { EmittedProgram{program}; }, "deep_tile");
}

}  // namespace
}  // namespace adjit::testing
