// tests/autosched/gpu/loops/register_tile_test.cpp -- which kernels get register tiles.
#include "autosched/gpu/loops/register_tile.hpp"

#include <algorithm>
#include <string>

#include "autosched/program/nests.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/same_results.hpp"

namespace adjit::sched {
namespace {

// Results that a thread of a kernel's root computes, and threads that add up one together.
struct Tile {
  int64_t results = 1, together = 1;
};
Tile tile_of(const Program& program, size_t kernel = 0) {
  const Nest& nest = program.kernels.at(kernel).root;
  const size_t results = program.graph.stages[nest.stage].domain.output_rank;
  Tile tile;
  for (const Loop& loop : nest.loops) {
    const bool in_tile = loop.kind == LoopKind::Unrolled || loop.kind == LoopKind::Vector;
    if (in_tile && loop.axis < results) tile.results *= loop.trips;
    if (loop.kind == LoopKind::Thread && loop.axis >= results) tile.together *= loop.trips;
  }
  return tile;
}

TEST(RegisterTile, SumsOverPairsShareWhatTheyRead) {
  const Program p = default_schedule(
      parse_graph("def f(float(8192, 2) x, float(8192, 2) y, float(8192, 4) v) -> (s) {\n"
                  "  s(i, c) +=! exp(-(x(i, 0) - y(j, 0)) * (x(i, 1) - y(j, 1))) * v(j, c)\n}"),
      kGpu);
  EXPECT_GE(tile_of(p).results, 16) << print(p);
  EXPECT_EQ(tile_of(p).results % 4, 0) << "one exponential for all four columns: " << print(p);
  EXPECT_GE(tile_of(p).together, 32);
}

TEST(RegisterTile, AGradientOfWeightsIsComputedForManyTapsAtOnce) {
  const Program p = default_schedule(
      parse_graph("def f(float(2056, 2056) x, float(2048, 2048) g) -> (w) {\n"
                  "  w(p, q) +=! x(i + p, j + q) * g(i, j) where p in 0:9, q in 0:9 }"),
      kGpu);
  EXPECT_GE(tile_of(p).results, 9) << print(p);
}

TEST(RegisterTile, WhatWaitsForItsMemoryIsLeft) {
  const Program p = default_schedule(
      parse_graph("def f(float(8192, 8192) x) -> (y) { y(i, j) = exp(x(i, j)) }"), kGpu);
  EXPECT_EQ(tile_of(p).results, 4) << "a vector of 16 bytes";
}

TEST(RegisterTile, WhatSharesNothingIsLeft) {
  const Program p = default_schedule(
      parse_graph("def f(float(2048, 1024) x) -> (y) { y(i, j) = tanh(tanh(tanh(x(i, j)))) }"),
      kGpu);
  EXPECT_EQ(tile_of(p).results, 4) << "a vector of 16 bytes";
}

TEST(RegisterTile, AThreadReadsRowsOfWhatItTransposes) {
  const Program p = default_schedule(
      parse_graph("def f(float(8192, 8192) x) -> (y) { y(i, j) = x(j, i) }"), kGpu);
  EXPECT_GE(tile_of(p).results, 4) << print(p);
}

TEST(RegisterTile, WhatIsLittleMoreThanALaunchIsLeft) {
  const Program p = default_schedule(
      parse_graph("def f(float(64, 8) x) -> (s) { s(i) +=! x(i, k) * x(i, k) }"), kGpu);
  EXPECT_EQ(p.moves_json.find("unroll"), std::string::npos) << p.moves_json;
}

// A mean of windows: the sum is in no memory.
TEST(RegisterTile, ASumIsComputedWhereItIsRead) {
  const std::string pool =
      "def f(float(64, 64, 114, 114) x) -> (y) {\n"
      "  s(n, c, i, j) +=! x(n, c, i + p, j + q) where i in 0:112, j in 0:112, p in 0:3, q in 0:3\n"
      "  y(n, c, i, j) = s(n, c, i, j) / 9.0\n}";
  const Program p = default_schedule(parse_graph(pool), kGpu);
  ASSERT_EQ(p.kernels.size(), 1u) << print(p);
  EXPECT_EQ(p.kernels[0].root.attached.size(), 1u);
  // Where another reader wants it, it is stored.
  const Program both = default_schedule(
      parse_graph(pool.substr(0, pool.size() - 1) + "  z(n, c, i) +=! s(n, c, i, j)\n}"), kGpu);
  EXPECT_GT(both.kernels.size(), 1u);
}

TEST(RegisterTile, GivesTheSameResults) {
  int tiled = 0;
  for (const char* text :
       {"def f(float(40, 3) x, float(36, 3) y, float(36, 4) v) -> (s) {\n"
        "  d(i, j) +=! (x(i, k) - y(j, k)) * (x(i, k) - y(j, k))\n"
        "  s(i, c) +=! exp(-d(i, j)) * v(j, c)\n}",
        "def f(float(2, 4, 12, 12) x) -> (y) { y(n, c, i, j) max=! x(n, c, i + p - 1, j + q - 1)\n"
        "  where i in 0:12, j in 0:12, p in 0:3, q in 0:3, i + p >= 1, i + p <= 12, j + q >= 1, "
        "j + q <= 12 }",
        "def f(float(48, 64) x) -> (y) { y(i, j) = x(j, i) * 2.0 }",
        "def f(float(7, 22, 16) x, float(5) w) -> (y) {\n"
        "  s(i, j, l) +=! x(i, j + p, l) * w(p) where j in 0:18\n"
        "  y(i, j, l) = max(s(i, j, l), 0.0)\n}",
        "def f(float(3, 33, 40) x, float(3, 29, 32) g) -> (w) {\n"
        "  w(p, q) +=! x(b, i + p, j + q) * g(b, i, j) where p in 0:5, q in 0:9 }",
        "def f(float(64, 32) x, float(8, 32, 32) l) -> (y) {\n"
        "  y(n, c, i) +=! x(n, k) * l(c, i, k) where n in 0:64, c in 0:8, i in 0:32, k in 0:32, "
        "k <= i }"}) {
    const Graph graph = parse_graph(text);
    const Program p = default_schedule(graph, kSlowGpu);
    EXPECT_TRUE(fallbacks_of(p).empty());
    tiled += p.moves_json.find("unroll") != std::string::npos;
    testing::expect_same_results(graph, p, 1);
  }
  EXPECT_GE(tiled, 5);
}

}  // namespace
}  // namespace adjit::sched
