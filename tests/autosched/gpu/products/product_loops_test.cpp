// tests/autosched/gpu/products/product_loops_test.cpp -- blocks of products: what they copy and
// compute.
#include "autosched/gpu/products/product_loops.hpp"

#include "autosched/program/nests.hpp"
#include "autosched/program/threads.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/products/looped_product.hpp"

namespace adjit::sched {
namespace {

TEST(ProductLoops, ABlockComputesATile) {
  const Program p = looped(product_graph(64, 96, 40, false, false));
  ASSERT_EQ(p.kernels.size(), 1u);
  EXPECT_EQ(loops_of(p, "C"),
            "parallel:i:4 parallel:j:3 serial:r_k:5 thread:i:2 thread:i:4 thread:j:8 serial:r_k:2 "
            "unrolled:r_k:4 unrolled:i:2 vector:j:4");
  EXPECT_EQ(block_threads(p.kernels[0]), 64);
  for (const Nest::Attached& copy : p.kernels[0].root.attached) {
    EXPECT_EQ(copy.depth, 3u);
    EXPECT_EQ(copy.nest.buffers, 3);
  }
}

// Nothing has to divide anything.
TEST(ProductLoops, TilesReachPastTheEnds) {
  for (const bool a : {false, true})
    for (const bool b : {false, true})
      for (const auto& [m, n, k] : {std::array<int64_t, 3>{17, 33, 9}, {16, 50, 19}, {40, 32, 8}})
        looped(product_graph(m, n, k, a, b));
}

// Buffers of whole terms are written out for threads with many results.
TEST(ProductLoops, ThreadsWithManyResultsHaveNoLoopOverTheTermsOfABuffer) {
  const ProductTile many{.m = 32, .n = 32, .k = 8, .thread_m = 16, .thread_n = 8};
  const auto loops = [&](int64_t k) {
    return loops_of(looped(product_graph(64, 64, k, false, false), many), "C");
  };
  EXPECT_EQ(loops(40),
            "parallel:i:2 parallel:j:2 serial:r_k:5 thread:i:2 thread:j:4 unrolled:j:2 "
            "unrolled:r_k:8 unrolled:i:16 vector:j:4");
  EXPECT_EQ(loops(44),
            "parallel:i:2 parallel:j:2 serial:r_k:6 thread:i:2 thread:j:4 serial:r_k:4 "
            "unrolled:j:2 unrolled:r_k:2 unrolled:i:16 vector:j:4");
}

// All few rows or columns are a thread's.
TEST(ProductLoops, FewRowsOrColumns) {
  for (const int64_t few : {2, 3, 4, 7, 12, 15}) {
    looped(product_graph(few, 96, 40, false, false),
           {.m = few, .n = 64, .k = 16, .thread_m = few, .thread_n = 4});
    for (const int64_t rows : {1, 2})
      looped(product_graph(96, few, 40, false, true),
             {.m = 64, .n = few, .k = 16, .thread_m = rows, .thread_n = few});
  }
}

TEST(ProductLoops, BatchesAreBlocksOfTheirOwn) {
  const Program p =
      looped(parse_graph("def f(float(3, 20, 2, 24) a, float(3, 2, 24, 40) b) -> (c) {\n"
                         " c(i, m, h, n) +=! a(i, m, h, k) * b(i, h, k, n)\n}"));
  EXPECT_EQ(parallel_depth(p.kernels[0].root), 4u);
  EXPECT_EQ(task_count(p.kernels[0].root), 3 * 2 * 2 * 2);
  looped(
      parse_graph("def f(float(20, 24) w, float(3, 24, 40) x) -> (c) {\n"
                  " c(i, m, n) +=! w(m, k) * x(i, k, n)\n}"));
}

TEST(ProductLoops, BothOperandsMayBeOneTensor) {
  looped(parse_graph("def f(float(40, 24) x) -> (c) { c(i, j) +=! x(i, k) * x(j, k) }"));
  looped(parse_graph("def f(float(32, 24) x) -> (c) { c(i, j) +=! x(i, k) * x(j, k) }"));
  looped(parse_graph("def f(float(24, 64) x) -> (c) { c(i, j) +=! x(k, i) * x(k, j) }"));
}

TEST(ProductLoops, HalvesAreSummedAsFloats) {
  const Graph graph = parse_graph(
      "def f(bfloat16(20, 24) a, bfloat16(24, 40) b) -> (c) {\n"
      " c(i, j) +=! float32(a(i, k)) * float32(b(k, j))\n}");
  const Program p = looped(graph);
  EXPECT_EQ(p.graph.info(p.graph.stages[stage_named(p, "a_packed")].results[0]).dtype,
            DType::BFloat16);
}

TEST(ProductLoops, ALongSumIsSplitAmongBlocks) {
  const Graph graph = product_graph(20, 40, 64, false, false);
  ProductTile tile = kTile;
  tile.parts = 4;
  Program p = split_product(initial_program(graph, GpuMachine{}), 0, tile);
  ASSERT_EQ(p.graph.stages.size(), 2u);
  ASSERT_TRUE(product_of(p.graph, p.graph.stages[0]));
  p = product_loops(std::move(p), 0, tile);
  expect_faithful(p, graph);
  EXPECT_EQ(task_count(p.kernels[0].root), 4 * 2 * 2);
  tile.parts = 1;
  EXPECT_EQ(split_product(initial_program(graph, GpuMachine{}), 0, tile).graph.stages.size(), 1u);
}

}  // namespace
}  // namespace adjit::sched
