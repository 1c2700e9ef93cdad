// tests/jit/engine/compiled_graph_fuzz_test.cpp -- random graphs: compiled code against the
// interpreter.
#include <gtest/gtest.h>

#include <cstdlib>

#include "autosched/program/points.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/jit/engine/run_compiled.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"
#include "tests/runtime/graph/random_scan.hpp"

namespace adjit::testing {
namespace {

// ADJIT_FUZZ_CASES asks for more, ADJIT_FUZZ_FIRST for others.
uint64_t cases(uint64_t usual) {
  const char* text = std::getenv("ADJIT_FUZZ_CASES");
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

uint64_t first_seed(uint64_t usual) {
  const char* text = std::getenv("ADJIT_FUZZ_FIRST");
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

// What the interpreter takes its time for.
int64_t points_of(const Graph& graph) {
  int64_t points = 0;
  for (const Stage& stage : graph.stages)
    points +=
        stage.scan ? stage.scan->trips * points_of(*stage.scan->body) : stage.domain.box_points();
  return points;
}

// `count` graphs of at most this many points.
void compare(uint64_t first, uint64_t count, const RandomGraphOptions& options,
             Graph (*draw)(uint64_t, const RandomGraphOptions&) = random_graph) {
  constexpr int64_t kMostPoints = 200'000;
  Engine engine(memory_only(2));
  first = first_seed(first);
  for (uint64_t seed = first; count > 0; ++seed) {
    const Graph graph = draw(seed, options);
    if (points_of(graph) > kMostPoints) continue;
    --count;
    const std::vector<Array> inputs = small_inputs(graph, seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + print(graph));
    std::vector<Array> compiled;
    ASSERT_NO_THROW(compiled = run_compiled(engine, request_of(graph), inputs));
    ASSERT_EQ(engine.compile(request_of(graph)).executable->report().fallbacks,
              std::vector<std::string>{});
    ASSERT_EQ(first_difference(graph, inputs, compiled), "")
        << print(schedule_of(engine.compiler(), request_of(graph)));
  }
}

TEST(CompiledGraphs, SmallExtents) { compare(1, cases(60), {}); }

TEST(CompiledGraphs, ExtentsAcrossVectorsAndTiles) {
  compare(1000, cases(40), {.stages = 4, .max_extent = 37});
}

TEST(CompiledGraphs, ZeroExtentsAndCustomCombiners) {
  compare(2000, cases(40), {.custom_combiners = true, .zero_extents = true});
}

TEST(CompiledGraphs, Scatters) { compare(3000, cases(60), {.scatters = true}); }

TEST(CompiledGraphs, ScattersAcrossVectors) {
  compare(4000, cases(30), {.stages = 4, .max_extent = 37, .scatters = true});
}

TEST(CompiledGraphs, EveryDType) { compare(5000, cases(80), {.all_dtypes = true}); }

TEST(CompiledGraphs, EveryDTypeAcrossVectors) {
  compare(6000, cases(60), {.stages = 3, .max_extent = 70, .all_dtypes = true});
}

TEST(CompiledGraphs, WhatSharesBuffers) {
  compare(7000, cases(100), {.sharing = true});
  compare(8000, cases(50), {.stages = 8, .max_extent = 20, .sharing = true});
}

TEST(CompiledGraphs, WhatSharesBuffersInScans) {
  compare(9000, cases(80), {.stages = 5, .sharing = true}, random_scan);
}

// A maximum, its place, and other reductions of the same elements.
TEST(CompiledGraphs, SeveralReductionsOfTheSameElements) {
  compare(10000, cases(60), {.stages = 8, .reduced_again = true});
  compare(11000, cases(30), {.max_extent = 37, .scatters = true, .reduced_again = true});
  compare(12000, cases(40), {.stages = 5, .all_dtypes = true, .reduced_again = true});
}

TEST(CompiledGraphs, OneAndTwoThreadsGiveTheSameBits) {
  Engine one(memory_only(1)), two(memory_only(2));
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Graph graph = random_graph(seed, {.stages = 4, .max_extent = 40});
    const std::vector<Array> inputs = small_inputs(graph, seed);
    const std::vector<Array> a = run_compiled(one, request_of(graph), inputs);
    const std::vector<Array> b = run_compiled(two, request_of(graph), inputs);
    for (size_t k = 0; k < a.size(); ++k) EXPECT_EQ(a[k].bytes, b[k].bytes) << "seed " << seed;
  }
}

}  // namespace
}  // namespace adjit::testing
