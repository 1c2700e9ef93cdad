// tests/autosched/analysis/traffic_test.cpp -- cache lines that enter each cache.
#include "autosched/analysis/traffic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include "autosched/cpu/cost/features.hpp"
#include "autosched/lower/initial_program.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(Traffic, WhatFitsACacheEntersItOnce) {
  // A is 19,200 bytes, B 25,600, C 12,288: more than L1, little for L2.
  const Program p = tiled_product();
  const KernelFeatures cold = features_of(p, p.kernels[0], kOneCore, {1e12, {}});
  EXPECT_EQ(cold.array_bytes, 4 * (48 * 100 + 100 * 64 + 48 * 64));
  const Traffic& moved = cold.nests[0].traffic;
  EXPECT_NEAR(moved.streamed[1], (19200 + 25600 + 1.25 * 12288) / 64, 1);
  EXPECT_GT(moved.streamed[0], moved.streamed[1]);
  const KernelFeatures warm = features_of(p, p.kernels[0], kOneCore, residence_of(p));
  EXPECT_EQ(warm.nests[0].traffic.streamed[1], 0);
}

// What passes from kernel to kernel within a task is there from before, if the task keeps it.
TEST(Traffic, WhatStaysInATaskIsNear) {
  const Graph graph = parse_graph(
      "def main(float(40, 30000) x) -> (z) {\n"
      "  t(i, j) = exp(x(i, j))\n  z(i) +=! t(i, r)\n}");
  Program p = initial_program(graph, CpuMachine{2, 512});
  const Residence whole = residence_of(p);
  EXPECT_TRUE(whole.in_task.empty()) << "no tasks";
  EXPECT_EQ(whole.bytes, 4 * (2 * 40 * 30000 + 40));
  for (size_t s : {0, 1}) p = parallel(std::move(p), s, 1);
  const Residence tasks = residence_of(p);
  const TensorId t = p.graph.stages[0].results[0], x = p.graph.inputs[0];
  EXPECT_EQ(tasks.in_task[t.value], 4 * 30000);
  EXPECT_EQ(tasks.in_task[x.value], 0);
  EXPECT_EQ(tasks.bytes, 4 * (40 * 30000 + 40) + 2 * 4 * 30000) << "a part for each core";
  CpuMachine machine{2, 512};
  machine.l3_bytes = 4 << 20;
  const auto lines = [&](const Residence& residence, size_t cache) {
    return features_of(p, p.kernels[1], machine, residence).nests[0].traffic.streamed[cache];
  };
  const Residence apart{tasks.bytes, {}};
  for (const size_t cache : {1, 2}) {
    EXPECT_GT(lines(apart, cache), 40 * 30000 / 16 - 1) << "cache " << cache;
    EXPECT_LT(lines(tasks, cache), 100) << "cache " << cache;
  }
}

TEST(Traffic, WhatComesFromDifferentPlacesOverlaps) {
  Traffic lines;
  lines.streamed = {1000, 400, 100};
  const CacheCycles cycles = cache_cycles(lines, kOneCore);
  EXPECT_GT(cycles.l2, 0);
  EXPECT_GT(cycles.l3, 0);
  EXPECT_GT(cycles.memory, 0);
  EXPECT_EQ(cycles.scattered, 0) << "all is foreseen";
  EXPECT_EQ(cycles.beyond_l2(), std::max(cycles.l3, cycles.memory));
  lines.scattered = {0, 0, 100};
  EXPECT_GT(cache_cycles(lines, kOneCore).scattered, 0);
  EXPECT_EQ(cache_cycles({}, kOneCore).beyond_l2(), 0);
}

TEST(Traffic, BesideStreamsTheSecondCacheIsHalf) {
  const CpuMachine half = beside_streams(kOneCore);
  EXPECT_EQ(2 * half.l2_bytes, kOneCore.l2_bytes);
  EXPECT_EQ(half.l1_bytes, kOneCore.l1_bytes);
}

// A sum down columns walks lines that L1 loses; tiled by a line's columns it does not.
TEST(Traffic, LinesThatAreLostAreFetchedAgain) {
  const Graph g = column_sum_graph(4096, 64);
  const auto lines = [&](const Program& p) {
    return traffic(placed_nests(p, p.kernels[0]), kOneCore, 1e12)[0].streamed[0];
  };
  const double by_column = lines(plain(g, 1));
  const double by_line = lines(vectorize(plain(g, 1), 0, 0, 16));
  EXPECT_GT(by_column, 8 * by_line);
  EXPECT_NEAR(by_line, 4096.0 * 64 * 4 / 64, 0.1 * by_line);
}

}  // namespace
}  // namespace adjit::sched
