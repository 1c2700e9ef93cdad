// tests/autosched/gpu/fuse_epilogues_test.cpp -- a bias and an activation in a product's kernel.
#include "autosched/gpu/fuse_epilogues.hpp"

#include "autosched/program/nests.hpp"
#include "autosched/program/threads.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/nest_text.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

constexpr const char* kDense =
    "def f(float(150, 24) x, float(24, 140) w, float(140) b) -> (y) {\n"
    " c(i, j) +=! x(i, k) * w(k, j)\n";

Program with_epilogue(const std::string& text, const GpuMachine& machine = {}) {
  const Graph graph = parse_graph(text);
  Program p = fuse_epilogues(initial_program(graph, machine), machine);
  expect_faithful(p, graph);
  return p;
}

TEST(FuseEpilogues, AProductIsComputedTileByTileWhereItIsRead) {
  Program p = with_epilogue(std::string(kDense) + " y(i, j) = max(c(i, j) + b(j), 0.0)\n}");
  ASSERT_EQ(p.kernels.size(), 1u);
  ASSERT_EQ(product_of_epilogue(p, 1), 0u);
  const std::optional<ProductTile> tile =
      product_tile(p, p.graph.stages[0], GpuMachine{}, {.keeps_results = true});
  ASSERT_TRUE(tile);
  p = epilogue_loops(std::move(p), 1, *tile);
  expect_faithful(p, parse_graph(std::string(kDense) + " y(i, j) = max(c(i, j) + b(j), 0.0)\n}"));
  const Kernel& kernel = p.kernels[0];
  EXPECT_EQ(parallel_depth(kernel.root), 2u);
  EXPECT_EQ(block_threads(kernel), tile->threads());
  ASSERT_EQ(kernel.root.attached.size(), 1u);
  EXPECT_EQ(kernel.root.attached[0].nest.attached.size(), 2u) << "the operands' copies";
}

TEST(FuseEpilogues, OthersAreLeftApart) {
  const std::string product = kDense;
  EXPECT_EQ(with_epilogue(product + " y(i, j) = c(i, 139 - j)\n}").kernels.size(), 2u);
  EXPECT_EQ(with_epilogue(product + " y(i) +=! c(i, j) * b(j)\n}").kernels.size(), 2u) << "reduces";
  EXPECT_EQ(with_epilogue(product + " u(i, j) = exp(c(i, j))\n y(i, j) = u(i, j) + c(i, j)\n}")
                .kernels.size(),
            3u)
      << "two read it";
  EXPECT_EQ(with_epilogue("def f(float(150, 24) x, float(24, 140) w) -> (y, c) {\n"
                          " c(i, j) +=! x(i, k) * w(k, j)\n y(i, j) = exp(c(i, j))\n}")
                .kernels.size(),
            2u)
      << "the caller, too";
}

// Found by the fuzzer: its reader has no loop outside the tile.
TEST(FuseEpilogues, AProductOfOneTileIsLeftApart) {
  const Program p = with_epilogue(
      "def f(float(16, 24) x, float(24, 16) w) -> (y) {\n"
      " c(i, j) +=! x(i, k) * w(k, j)\n y(i, j) = exp(c(i, j))\n}");
  EXPECT_EQ(p.kernels.size(), 2u);
}

TEST(FuseEpilogues, SharedMemoryHoldsTheTile) {
  GpuMachine small;
  small.shared_bytes = small.block_shared_bytes = 2 << 10;
  EXPECT_EQ(with_epilogue(std::string(kDense) + " y(i, j) = exp(c(i, j))\n}", small).kernels.size(),
            2u);
}

}  // namespace
}  // namespace adjit::sched
