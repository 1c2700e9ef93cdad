// tests/autosched/cpu/passes/reductions/prepare_test.cpp -- packed operands and partial results of
// long reductions.
#include "autosched/cpu/passes/reductions/prepare.hpp"

#include <gtest/gtest.h>

#include "autosched/lower/initial_program.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

size_t kernels_after_preparing(const Graph& graph, ReductionPlans& plans) {
  Choices own;
  return prepare_reductions(plain(graph), {}, {}, plans, {}, own).kernels.size();
}

TEST(PrepareReductions, PacksTransposedOperandsAndSplitsLongSums) {
  ReductionPlans plans;
  EXPECT_EQ(kernels_after_preparing(product_graph(96, 96, 96, false, false), plans), 1u);
  EXPECT_EQ(kernels_after_preparing(product_graph(96, 96, 96, false, true), plans), 2u);
  EXPECT_EQ(plans.size(), 1u);
  EXPECT_EQ(kernels_after_preparing(total_graph(2048, 1024), plans), 2u);
  EXPECT_EQ(kernels_after_preparing(conv_graph(4, 16, 14, 14, 16, 1, true), plans), 2u);
}

// A gradient of 9 x 9 taps has 81 results, but a tile with lanes of the reduction takes 18 of them.
TEST(PrepareReductions, SplitsSumsOfFewTiles) {
  const auto kernels = [](int64_t taps, int64_t side) {
    const std::string t = std::to_string(taps), n = std::to_string(side),
                      padded = std::to_string(side + taps - 1);
    ReductionPlans plans;
    return kernels_after_preparing(
        parse_graph("def f(float(" + n + ", " + n + ") g, float(" + padded + ", " + padded +
                    ") x) -> (y) {\n y(i, j) +=! g(r, s) * x(i + r, j + s) where i in 0:" + t +
                    ", j in 0:" + t + ", r in 0:" + n + ", s in 0:" + n + "\n}"),
        plans);
  };
  EXPECT_EQ(kernels(9, 512), 2u);
  EXPECT_EQ(kernels(40, 512), 1u) << "tiles enough for all cores";
  EXPECT_EQ(kernels(9, 64), 1u) << "too short";
}

// 512 rows of 2048 bytes fall into 32 sets of an L2 of 512 kB: eight lines each stay.
TEST(PrepareReductions, PacksRowsThatTheSecondCacheDoesNotHold) {
  const auto kernels = [](int64_t l2_bytes, int64_t columns) {
    ReductionPlans plans;
    Choices own;
    CpuMachine machine{1, 256};
    machine.l2_bytes = l2_bytes;
    machine.fma_bits = 256;
    Program program = initial_program(matmul_graph(512, columns, 512), CpuMachine{1, 256});
    return prepare_reductions(std::move(program), machine, {}, plans, {}, own).kernels.size();
  };
  EXPECT_EQ(kernels(512 << 10, 512), 2u);
  EXPECT_EQ(kernels(1 << 20, 512), 1u);
  EXPECT_EQ(kernels(512 << 10, 528), 1u);
}

}  // namespace
}  // namespace adjit::sched
