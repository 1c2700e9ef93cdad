// tests/autosched/program/shared_memory_test.cpp -- bytes that the threads of a block share.
#include "autosched/program/shared_memory.hpp"

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(SharedMemory, GroupsExchangeByTheirSizesAndPlaces) {
  const auto exchange = [](int64_t threads, int64_t count, bool side_by_side) {
    return exchange_of({threads, count, side_by_side});
  };
  EXPECT_EQ(exchange(1, 64, true), Exchange::None);
  EXPECT_EQ(exchange(16, 4, true), Exchange::Shuffles);
  EXPECT_EQ(exchange(12, 4, true), Exchange::All);
  EXPECT_EQ(exchange(16, 4, false), Exchange::All);
  EXPECT_EQ(exchange(96, 1, true), Exchange::Warps);
  EXPECT_EQ(exchanged_elements({16, 4, true}, 64), 0);
  EXPECT_EQ(exchanged_elements({16, 4, false}, 64), 64);
  EXPECT_EQ(exchanged_elements({96, 1, true}, 128), 4);
}

// Two sums of 40 rows each, by 16 threads of each row's, and the row itself.
TEST(SharedMemory, ResultsAndExchangesOfWhatABlockComputes) {
  const Graph graph = parse_graph(
      "def f(float(8, 40) x, double(8, 40) z) -> (y) {\n e(i, j) = exp(x(i, j))\n"
      " s(i) +=! e(i, r)\n t(i) +=! z(i, r)\n"
      " y(i, j) = e(i, j) * s(i) * float(t(i)) where i in 0:8, j in 0:40\n}");
  Program p = plain_on_gpu(graph);
  EXPECT_EQ(shared_bytes(p, p.kernels[0]), 0) << "no blocks";
  for (const size_t s : {2, 1, 0}) p = compute_at(p, s, 3, 1);
  for (const size_t s : {1, 2}) p = threads(p, s, 1, 12);
  p = parallel(p, 3, 1);
  EXPECT_EQ(shared_bytes(p, p.kernels[0]), 160 + 16 + 16 + 12 * 4 + 12 * 8)
      << "e, s and t, and what 12 threads exchange of each";
  expect_faithful(p, graph);
}

}  // namespace
}  // namespace adjit::sched
