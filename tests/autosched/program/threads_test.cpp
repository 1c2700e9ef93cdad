// tests/autosched/program/threads_test.cpp -- how many threads nests have, and who runs them.
#include "autosched/program/threads.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "autosched/analysis/verify.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

using Steps = std::vector<int64_t>;

// y = softmax(x): 40 columns go to 8 threads; e and s are computed in the loop of the rows, m in a
// kernel of its own.
Program rows() {
  Program p = plain_on_gpu(softmax_graph(12, 40));
  p = threads(std::move(p), 3, 1, 8);
  p = compute_at(std::move(p), 2, 3, 1);
  return compute_at(std::move(p), 1, 3, 1);
}

TEST(Threads, AKernelWithAThreadLoopIsABlockKernel) {
  Program p = rows();
  EXPECT_TRUE(is_block_kernel(p.kernels[1]));
  EXPECT_FALSE(is_block_kernel(p.kernels[0]));
  EXPECT_EQ(root_run_by(p.kernels[0]), RunBy::Thread);
  // One in any of its nests is enough.
  p.kernels[1].root.loops[2].kind = LoopKind::Serial;
  EXPECT_FALSE(is_block_kernel(p.kernels[1]));
  p = threads(std::move(p), 2, 1, 10);
  EXPECT_TRUE(is_block_kernel(p.kernels[1]));
  EXPECT_EQ(root_run_by(p.kernels[1]), RunBy::Block);
}

TEST(Threads, ABlockHasWholeWarpsForTheNestWithTheMost) {
  Program p = rows();
  const Nest& root = p.kernels[1].root;
  EXPECT_EQ(threads_of(root), 8);
  EXPECT_EQ(threads_of(root.attached[0].nest), 1);
  EXPECT_EQ(block_threads(p.kernels[1]), 32);
  p = threads(std::move(p), 2, 1, 40);
  EXPECT_EQ(block_threads(p.kernels[1]), 64);
}

TEST(Threads, TheFirstThreadLoopIsWhereTheTileBeginsIfThereIsNone) {
  Program p = plain_on_gpu(matmul_graph(12, 40, 6));
  EXPECT_EQ(first_thread_loop(p.kernels[0].root), 3u);
  p = vectorize(std::move(p), 0, 1, 4);
  EXPECT_EQ(first_thread_loop(p.kernels[0].root), tile_begin(p.kernels[0].root));
  p = threads(std::move(p), 0, 1, 10);
  EXPECT_EQ(first_thread_loop(p.kernels[0].root), 1u);
}

TEST(Threads, WhoRunsANestFollowsFromTheTree) {
  const Program p = rows();
  const Nest& root = p.kernels[1].root;  // serial i, serial j, thread j
  EXPECT_EQ(attached_run_by(RunBy::Block, root, 1), RunBy::Block);
  EXPECT_EQ(attached_run_by(RunBy::Block, root, 2), RunBy::Block);
  EXPECT_EQ(attached_run_by(RunBy::Block, root, 3), RunBy::Thread);
  EXPECT_EQ(attached_run_by(RunBy::Thread, root, 1), RunBy::Thread);
  const Nest& without = root.attached[0].nest;
  EXPECT_EQ(attached_run_by(RunBy::Block, without, 1), RunBy::Block);
  for (size_t depth : {1, 2, 3}) EXPECT_FALSE(lies_between_threads(root, depth));
  Nest more = root;
  more.loops[0].kind = LoopKind::Thread;
  EXPECT_TRUE(lies_between_threads(more, 1));
  EXPECT_TRUE(lies_between_threads(more, 2));
  EXPECT_FALSE(lies_between_threads(more, 0));
  EXPECT_FALSE(lies_between_threads(more, 3));
}

TEST(Threads, ReduceTogetherOverTheReductionOrInsideItsSerialLoops) {
  const auto together = [](std::vector<size_t> order, std::vector<size_t> loops) {
    Program p = with_order(plain_on_gpu(matmul_graph(8, 16, 4)), 0, order);
    for (const size_t l : loops) p.kernels[0].root.loops[l].kind = LoopKind::Thread;
    return is_cooperative(p.graph.stages[0], p.kernels[0].root);
  };
  EXPECT_FALSE(together({0, 1, 2}, {}));
  EXPECT_FALSE(together({0, 1, 2}, {0, 1}));
  EXPECT_TRUE(together({0, 1, 2}, {2}));
  EXPECT_TRUE(together({0, 2, 1}, {2}));
  EXPECT_FALSE(together({0, 2, 1}, {0}));
}

TEST(Threads, TheFirstFaultOfAKernelNamesItsStage) {
  Program p = rows();
  EXPECT_FALSE(fault_in_threads(p, p.kernels[1]));
  p.kernels[1].root.attached[1].nest.loops[0].kind = LoopKind::Thread;
  EXPECT_FALSE(fault_in_threads(p, p.kernels[1]));
  p.kernels[1].root.attached[1].nest.loops[0].trips = 4096;
  const std::optional<ThreadFault> fault = fault_in_threads(p, p.kernels[1]);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->stage, p.kernels[1].root.attached[1].nest.stage);
  EXPECT_STREQ(fault->what, "it has more threads than a block may have");
}

// c = x w; `count` threads of two rows each add up together, from what the block has copied.
Program product(int64_t rows, int64_t count, bool copied) {
  Program p = plain_on_gpu(matmul_graph(rows, 8, 12));
  if (copied) {
    Packing packing;
    packing.dimensions = {{1, 1, 0}, {0, 1, 0}};
    packing.padding_before = {0, 0};
    packing.padding_after = {ceil_div(rows, 2 * count) * 2 * count - rows, 0};
    const TensorId x = p.graph.inputs[0];
    p = pack(std::move(p), 0, x, packing);
  }
  const size_t stage = copied ? 1 : 0;
  p = unroll(std::move(p), stage, 0, 2);
  p = tile(std::move(p), stage, 0, std::vector<int64_t>{2 * count});
  p = tile(std::move(p), stage, 2, std::vector<int64_t>{4});
  p = threads(std::move(p), stage, 0, count);
  p = threads(std::move(p), stage, 1, 8);
  p = reorder(std::move(p), stage, std::vector<size_t>{0, 3, 1, 2, 4, 5});
  return copied ? compute_at(std::move(p), 0, 1, 2) : p;
}

TEST(Threads, RegisterTilesThatReachPastTheEndAreWhole) {
  for (const bool copied : {false, true}) {
    const Program ragged = product(21, 4, copied), even = product(24, 4, copied);
    const size_t stage = copied ? 1 : 0;
    const auto whole = [&](const Program& p, size_t axis) {
      return takes_whole_tiles(p.graph.stages[stage], nest_of(p, stage), axis);
    };
    EXPECT_TRUE(whole(ragged, 0));
    EXPECT_FALSE(whole(ragged, 1)) << "no tile";
    EXPECT_FALSE(whole(ragged, 2)) << "the reduction";
    EXPECT_FALSE(whole(even, 0));
    EXPECT_EQ(points_of_threads(nest_of(ragged, stage), 0), 8);
    EXPECT_EQ(reads_buffers_of_tiles(ragged, nest_of(ragged, stage), 0), copied);
    EXPECT_NO_THROW(verify(ragged));
  }
}

// 9 rows are copied, and 16 would be read.
TEST(Threads, RegisterTilesDoNotReachPastWhatIsCopied) {
  expect_refused([&] { product(9, 8, true); }, "reach past what is computed for them");
  EXPECT_NO_THROW(verify(product(9, 8, false)));
}

}  // namespace
}  // namespace adjit::sched
