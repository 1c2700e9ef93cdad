// tests/autosched/gpu/loops/tile_shape_test.cpp -- loops of threads that compute several results.
#include "autosched/gpu/loops/tile_shape.hpp"

#include <gtest/gtest.h>

#include "autosched/analysis/verify.hpp"
#include "autosched/lower/initial_program.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/same_results.hpp"

namespace adjit::sched {
namespace {

TEST(TileShape, ResultsAreInParallelAndTheTileInnermost) {
  const Graph graph = parse_graph(
      "def f(float(16, 64) x, float(64, 8) y) -> (z) { z(i, j) +=! x(i, k) * y(k, j) }");
  const Program p = register_tile_loops(initial_program(graph, kGpu), 0,
                                        {.unrolled = {4, 1, 2}, .threads = {1, 1, 32}, .lanes = 4});
  verify(p);
  EXPECT_EQ(print(p), R"(kernel 0: float(16, 8) z (argument), 8 tasks, 32 threads
  parallel i0 in 0:16:4
    parallel j0 in 0:8:4
      thread r_k0 in 0:64:2
        unrolled i1 in 0:4
          unrolled r_k1 in 0:2
            vector j1 in 0:4
              z(i, j) +=! x(i, r_k) * y(r_k, j)
                where i = i0 + i1, j = j0 + j1, r_k = r_k0 + r_k1
)");
  testing::expect_same_results(graph, p, 1);
}

TEST(TileShape, ASumIsComputedInTheLoopsOfItsReader) {
  const Graph graph = parse_graph(
      "def f(float(6, 18) x) -> (y) {\n  s(i, j) +=! x(i, j + p) where j in 0:16, p in 0:3\n"
      "  y(i, j) = s(i, j) / 3.0\n}");
  const Program p = sum_loops(initial_program(graph, kGpu), 0, 1,
                              {.unrolled = {2, 4, 3}, .threads = {1, 1, 1}, .lanes = 1});
  verify(p);
  ASSERT_EQ(p.kernels.size(), 1u);
  EXPECT_EQ(task_count(p.kernels[0].root), 3 * 4);
  testing::expect_same_results(graph, p, 1);
}

}  // namespace
}  // namespace adjit::sched
