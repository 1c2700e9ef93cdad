// tests/jit/emit/scopes/splats_test.cpp -- numbers in all lanes: once, and cheaply where they are
// loaded.
#include "jit/emit/scopes/splats.hpp"

#include <gtest/gtest.h>

#include <tuple>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/jit/emit/shaped_body.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// Rows of 8 lanes.
Program rows() {
  return vectorize(plain(parse_graph("def f(float(5, 16) x) -> (y) { y(i, j) = x(i, j) }")), 0, 1,
                   8);
}

TEST(Splats, VectorsAndConstantsTakeNoInstruction) {
  BodyBench bench(rows());
  llvm::Value* vector = bench.unknown_lanes(bench.builder.getFloatTy());
  const size_t before = bench.instructions();
  EXPECT_EQ(bench.splats({vector, 0}), vector);
  llvm::Value* ones = bench.splats({bench.builder.getInt32(1), 0});
  EXPECT_TRUE(llvm::isa<llvm::Constant>(ones));
  EXPECT_TRUE(ones->getType()->isVectorTy());
  EXPECT_EQ(bench.instructions(), before);
}

TEST(Splats, ANumberIsOneVectorForAllWhoAsk) {
  BodyBench bench(rows());
  llvm::Value* number = bench.unknown(bench.builder.getFloatTy());
  llvm::Value* lanes = bench.splats({number, 0});
  bench.scopes.push_here();
  EXPECT_EQ(bench.splats({number, 0}), lanes);
  llvm::Value* inner = bench.unknown(bench.builder.getFloatTy());
  llvm::Value* inner_lanes = bench.splats({inner, 1});
  bench.scopes.pop();
  bench.scopes.push_here();
  EXPECT_NE(bench.splats({inner, 1}), inner_lanes) << "of a scope that is closed";
  bench.splats.forget();
  EXPECT_NE(bench.splats({number, 0}), lanes);
}

TEST(Splats, WhatIsComputedOfLoadedNumbersIsComputedOnceMore) {
  BodyBench bench(rows());
  llvm::Value* left = bench.unknown(bench.builder.getFloatTy());
  llvm::Value* right = bench.unknown(bench.builder.getFloatTy());
  llvm::Value* sum = bench.builder.CreateFAdd(left, right);
  const emit::Emitted operands[] = {{left, 0}, {right, 0}};
  bench.splats.note(Op::Add, sum, operands);
  const size_t before = bench.instructions();
  llvm::Value* lanes = bench.splats({sum, 0});
  EXPECT_EQ(bench.instructions(), before + 5) << "two numbers are spread, by two each, and added";
  EXPECT_EQ(bench.splats({sum, 0}), lanes);
  bench.splats({left, 0});
  EXPECT_EQ(bench.instructions(), before + 5) << "all of it is known";
}

TEST(Splats, DifferencesOfLoadedNumbersAreTakenInAllLanes) {
  const Graph graph = parse_graph(
      "def main(float(8, 6) x, float(6) m, float(6, 16) w) -> (y) { y(i, j) +=! (x(i, r) - m(r)) * "
      "w(r, j) where i in 0:8, j in 0:16, r in 0:6 }");
  const Program program = vectorize(unroll(plain(graph, 1), 0, 0, 4), 0, 1, 8);
  const std::string ir = checked_ir(program);
  EXPECT_EQ(occurrences(ir, "call <8 x float> @llvm.experimental.constrained.fsub"), 4u) << ir;
  const size_t rows = occurrences(ir, "shufflevector <8 x float>");
  EXPECT_EQ(rows, 5u) << "m once for all instances\n" << ir;
}

TEST(Splats, SumsAndProductsOfLoadedNumbers) {
  // Once for each of four rows, or for all of them.
  for (const auto& [factor, name, count] :
       {std::tuple{"(x(i, r) + m(r))", "fadd", 4u}, std::tuple{"(x(i, r) * m(r))", "fmul", 4u},
        std::tuple{"(2.5 - m(r))", "fsub", 1u}}) {
    const Graph graph = parse_graph(
        std::string("def main(float(8, 6) x, float(6) m, float(6, 16) w) -> (y) { y(i, j) +=! ") +
        factor + " * w(r, j) where i in 0:8, j in 0:16, r in 0:6 }");
    const std::string ir = checked_ir(vectorize(unroll(plain(graph, 1), 0, 0, 4), 0, 1, 8));
    EXPECT_EQ(
        occurrences(ir, std::string("call <8 x float> @llvm.experimental.constrained.") + name),
        count)
        << ir;
  }
}

TEST(Splats, WhatIsComputedOfMoreIsSpreadAfterwards) {
  for (const char* factor : {"(x(i, r) - m(r)) * m(r)", "exp(m(r))", "float(i)"}) {
    const Graph graph = parse_graph(
        std::string("def main(float(8, 6) x, float(6) m, float(6, 16) w) -> (y) { y(i, j) +=! ") +
        factor + " * w(r, j) where i in 0:8, j in 0:16, r in 0:6 }");
    const std::string ir = checked_ir(vectorize(unroll(plain(graph, 1), 0, 0, 4), 0, 1, 8));
    EXPECT_EQ(occurrences(ir, "constrained"), 0u) << factor << ir;
  }
}

}  // namespace
}  // namespace adjit::testing
