// tests/jit/emit/body/divisors_test.cpp -- when a divisor is made ready once.
#include "jit/emit/body/divisors.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/jit/emit/shaped_body.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// y(i, j) = x(i, j) / d, rows of 64 in lanes of 8: one loop of `loop` trips around `copies`.
std::string division_ir(const std::string& d, int64_t columns, int64_t copies) {
  const std::string n = std::to_string(columns);
  const Graph graph =
      parse_graph("def main(float(3, " + n + ") x, float(3) s, float(" + n +
                  ") t) -> (y) { y(i, j) = x(i, j) / " + d + " where i in 0:3, j in 0:" + n + " }");
  Program program = vectorize(plain(graph, 1), 0, 1, 8);
  if (copies > 1) program = unroll(program, 0, 1, copies);
  return checked_ir(program);
}

TEST(Divisors, WhatDividesARowIsMadeReadyOnce) {
  if (!target_has_fma()) GTEST_SKIP() << "needs FMA";
  for (const int64_t copies : {1, 4}) {
    const std::string ir = division_ir("s(i)", 64, copies);
    EXPECT_EQ(occurrences(ir, "fdiv float"), 1u) << "of one number a row\n" << ir;
    EXPECT_EQ(occurrences(ir, "fdiv <8 x float>"), 0u) << ir;
  }
  EXPECT_EQ(occurrences(division_ir("3.0", 64, 1), "fdiv"), 0u);
  const std::string lanes = division_ir("t(j)", 64, 1);
  EXPECT_EQ(occurrences(lanes, "fdiv <8 x float>"), 1u) << "differs from lane to lane\n" << lanes;
  EXPECT_EQ(occurrences(lanes, "llvm.fma"), 0u) << lanes;
}

TEST(Divisors, FewDivisionsAreDivisions) {
  EXPECT_EQ(occurrences(division_ir("s(i)", 32, 1), "fdiv <8 x float>"), 1u);
  EXPECT_EQ(occurrences(division_ir("s(i)", 32, 4), "fdiv <8 x float>"), 4u);
  EXPECT_EQ(occurrences(division_ir("4.0", 64, 1), "fdiv <8 x float>"), 1u)
      << "a power of two: the back end multiplies";
}

TEST(Divisors, AreMadeReadyAgainOnceForgotten) {
  if (!target_has_fma()) GTEST_SKIP() << "needs FMA";
  BodyBench bench(
      vectorize(plain(parse_graph("def f(float(5, 16) x) -> (y) { y(i, j) = x(i, j) }")), 0, 1, 8));
  emit::Divisors divisors(bench.context);
  const emit::Emitted x{bench.unknown_lanes(bench.builder.getFloatTy()), 0};
  const emit::Emitted by{bench.unknown(bench.builder.getFloatTy()), 0};
  const auto instructions = [&] {
    const size_t before = bench.instructions();
    divisors.divided(x, by);
    return bench.instructions() - before;
  };
  const size_t first = instructions();
  EXPECT_LT(instructions(), first) << "it is ready";
  divisors.forget();
  EXPECT_EQ(instructions(), first);
}

}  // namespace
}  // namespace adjit::testing
