// tests/autosched/gpu/columns/column_loops_test.cpp -- rows that a block takes at once, and columns
// of a thread.
#include "autosched/gpu/columns/column_loops.hpp"

#include "autosched/analysis/verify.hpp"
#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/gpu/nest_text.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

std::string threads_text(std::vector<int64_t> spans, int64_t lanes, int64_t most) {
  const ColumnThreads threads = column_threads(spans, lanes, most);
  std::string text;
  for (int64_t along : threads.along) text += std::to_string(along) + " ";
  return text + "of " + std::to_string(threads.columns);
}

TEST(ColumnLoops, ThreadsHaveAsManyColumns) {
  EXPECT_EQ(threads_text({1024}, 4, 512), "256 of 4");
  EXPECT_EQ(threads_text({8192}, 4, 512), "512 of 16");
  EXPECT_EQ(threads_text({3000}, 4, 512), "375 of 8");
  EXPECT_EQ(threads_text({1001}, 1, 512), "501 of 2") << "the last one has fewer";
  EXPECT_EQ(threads_text({1023}, 1, 512), "341 of 3");
  EXPECT_EQ(threads_text({4, 32}, 4, 512), "4 8 of 4");
  EXPECT_EQ(threads_text({64, 64}, 4, 512), "32 16 of 8");
  EXPECT_EQ(threads_text({1}, 1, 512), "1 of 1");
}

std::string loops(const Graph& graph, const ColumnGroup& group) {
  Program p = plain_on_gpu(graph);
  p = column_loops(std::move(p), 0, group);
  verify(p);
  expect_faithful(p, graph);
  return loops_text(p, size_t{0});
}

TEST(ColumnLoops, RowsOfAGroupAreThreadsToo) {
  EXPECT_EQ(loops(column_sum_graph(16, 64), {1, 0, 1, 4}),
            "serial:r_j:4 thread:r_j:4 thread:i:16 vector:i:4");
  EXPECT_EQ(loops(column_sum_graph(16, 64), {1, 16, 1, 2}),
            "parallel:i:4 serial:r_j:8 thread:r_j:2 thread:i:4 vector:i:4");
  EXPECT_EQ(loops(column_sum_graph(5, 4096), {1, 0, 1, 1}),
            "serial:r_j:5 thread:i:512 unrolled:i:2 vector:i:4");
  EXPECT_EQ(loops(column_sum_graph(5, 601), {1, 0, 1, 1}),
            "serial:r_j:5 thread:i:301 unrolled:i:2");
}

TEST(ColumnLoops, RowsOfTwoAxesInsideABatch) {
  const Graph graph =
      parse_graph("def f(float(9, 3, 4, 8) x) -> (y) {\n y(b, j, k) +=! x(r, b, j, k)\n}");
  EXPECT_EQ(loops(graph, {2, 0, 3, 3}),
            "parallel:i:3 serial:r_l:3 thread:r_l:3 thread:j:4 thread:k:2 vector:k:4");
}

TEST(ColumnLoops, WhatIsAttachedHasTheSameThreads) {
  const Graph graph = parse_graph(
      "def f(float(12, 96) x) -> (y, s) {\n m(i) +=! x(i, r)\n y(i, j) = x(i, j) * m(i)\n"
      " s(j) +=! x(r, j)\n}");
  Program p = column_loops(plain_on_gpu(graph), 2, {1, 0, 1, 4});
  p = compute_with(p, 1, 2, 1, std::vector<Affine>{Affine::variable(1), Affine::variable(0)});
  p = compute_at(p, 0, 2, 1);
  p = attached_loops(std::move(p), 2);
  verify(p);
  expect_faithful(p, graph);
  EXPECT_EQ(loops_text(p, "s"), "serial:r_j:3 thread:r_j:4 thread:i:24 vector:i:4");
  EXPECT_EQ(loops_text(p, "y"), "thread:i:4 thread:j:24 vector:j:4");
}

}  // namespace
}  // namespace adjit::sched
