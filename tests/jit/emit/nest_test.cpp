// tests/jit/emit/nest_test.cpp -- nests attached in the loops of others.
#include "jit/emit/nest.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

using Steps = std::vector<int64_t>;

Program attach(Program p, const char* stage, const char* host, size_t depth) {
  const size_t s = stage_of(p, stage), h = stage_of(p, host);
  return compute_at(std::move(p), s, h, depth);
}

// Rows of a kernel's own buffer are stored in whole vectors, and read past their ends, by shifted
// lanes and lanes of a reduction, too; only what leaves the kernel is masked.
TEST(Nest, RowsOfOwnBuffersAreWholeVectors) {
  for (int64_t n : {5, 10, 16, 17, 35}) {
    SCOPED_TRACE(n);
    const std::string m = std::to_string(n), less = std::to_string(n - 2);
    const Graph graph =
        parse_graph("def main(float(6, " + m +
                    ") x) -> (y) { t(i, j) = 1.0 / x(i, j) where i in 0:6, j in 0:" + m +
                    " y(i, j) +=! t(i, j + r) where i in 0:6, j in 0:" + less + ", r in 0:3 }");
    for (const int64_t rows : {1, 2}) {
      Program p = plain(graph);
      if (rows > 1) p = tile(p, stage_of(p, "y"), 0, Steps{rows});
      p = attach(std::move(p), "t", "y", 1);
      p = vectorize(p, stage_of(p, "t"), 1, 16);
      p = vectorize(p, stage_of(p, "y"), 1, 8);
      expect_right(p);
    }
    const Graph sum = parse_graph("def main(float(6, " + m +
                                  ") x) -> (s) { t(i, j) = 1.0 / x(i, j) s(i) +=! t(i, r) }");
    Program p = attach(plain(sum), "t", "s", 1);
    p = vectorize(vectorize(std::move(p), 0, 1, 16), 1, 1, 16);
    expect_right(p);
    if (n % 16 != 0) {
      const EmittedProgram emitted(p);
      const auto parts =
          static_cast<size_t>(ceil_div(n % 16, std::min(16, cpu_target().vector.lanes(4))));
      EXPECT_EQ(occurrences(emitted.ir(), "@llvm.masked.load"), 1 + parts)
          << "of x, in as many parts as registers hold its last lanes, and the declaration";
      EXPECT_EQ(occurrences(emitted.ir(), "@llvm.masked.store"), 0u);
    }
  }
}

TEST(Nest, RowsOfSoftmaxInOneKernel) {
  for (int64_t rows : {1, 6, 7}) {
    Program p = plain(softmax_graph(rows, 19));
    for (const char* name : {"s", "e", "m"}) p = attach(std::move(p), name, "y", 1);
    expect_right(p);
    for (const char* name : {"e", "m", "s"}) {
      const size_t s = stage_of(p, name);
      p = vectorize(std::move(p), s, 1, 8);
    }
    expect_right(p);
    if (rows > 1) expect_right(parallel(std::move(p), 3, 1));
  }
}

TEST(Nest, SeveralRowsOfSoftmaxAtOnceWithARaggedRest) {
  Program p = tile(plain(softmax_graph(7, 9)), 3, 0, Steps{4});
  for (const char* name : {"s", "e", "m"}) p = attach(std::move(p), name, "y", 1);
  expect_right(p);
  p = vectorize(p, stage_of(p, "e"), 1, 4);
  expect_right(parallel(p, stage_of(p, "y"), 1));
}

Graph stencil_graph() {
  return parse_graph(
      "def main(float(24) x) -> (y) {\n"
      " t(i) = x(i) + x(i + 2) where i in 0:22\n u(i) = t(i) * t(i + 1) where i in 0:21\n"
      " y(i) = u(i) - u(i + 3) where i in 0:18\n}");
}

TEST(Nest, RegionsOfAStencilReachOverTheTile) {
  for (int64_t step : {1, 4, 5, 7, 18}) {
    SCOPED_TRACE(step);
    Program p = tile(plain(stencil_graph()), 2, 0, Steps{step});
    p = attach(std::move(p), "u", "y", 1);
    p = attach(std::move(p), "t", "y", 1);
    expect_right(p);
    p = vectorize(p, stage_of(p, "u"), 0, 4);
    p = vectorize(p, stage_of(p, "t"), 0, 4);
    expect_right(p);
    expect_right(parallel(p, stage_of(p, "y"), 1));
  }
}

TEST(Nest, NestsAttachedToAttachedNests) {
  Program p = tile(plain(stencil_graph()), 2, 0, Steps{6});
  p = attach(std::move(p), "u", "y", 1);
  p = attach(std::move(p), "t", "u", 1);
  expect_right(p);
}

// The border of the padded tensor lies outside the region's tensor on both sides.
// Rows of the host end where its axis does, also in a ragged task: what is computed for one of them
// is never asked whether it is there.
TEST(Nest, RowsOfARaggedTaskAreNotAsked) {
  const Graph graph = parse_graph(
      "def main(float(13, 4, 12) x, int64(13) n) -> (y) {\n"
      "  r(i, j) = x(i, max(min(n(i), 3), 0), j) * 2.0\n  y(i, j) = r(i, j) * r(i, 11 - j) }");
  for (const int64_t rows : {4, 5, 13}) {
    Program p = attach(plain(graph), "r", "y", 1);
    p = vectorize(p, stage_of(p, "r"), 1, 16);
    if (rows < 13) p = tile(p, stage_of(p, "y"), 0, Steps{rows});
    p = parallel(p, stage_of(p, "y"), 1);
    expect_right(p);
    EXPECT_EQ(gathers(EmittedProgram(p).ir()), 0u) << rows;
  }
}

TEST(Nest, RegionsAreClippedAtTheirTensor) {
  const Graph graph = parse_graph(
      "def main(float(17) x) -> (y) {\n t(i) = x(i) * 2.0\n"
      " y(i) = t(i - 3 where 3 <= i) + t(i + 4 where i < 13) where i in 0:17\n}");
  for (int64_t step : {1, 4, 6, 17}) {
    SCOPED_TRACE(step);
    Program p = tile(plain(graph), 1, 0, Steps{step});
    p = attach(std::move(p), "t", "y", 1);
    expect_right(p);
    p = vectorize(p, stage_of(p, "t"), 0, 4);
    if (step % 4 == 0) p = vectorize(p, stage_of(p, "y"), 0, 4);
    expect_right(p);
  }
}

TEST(Nest, ReductionsAttachedOverClippedRegions) {
  const Graph graph = parse_graph(
      "def main(float(17, 5) x) -> (y) {\n t(i) +=! x(i, r)\n"
      " y(i) = t(i - 2 where 2 <= i) + t(i + 2 where i < 15) where i in 0:17\n}");
  for (int64_t step : {1, 4, 6}) {
    SCOPED_TRACE(step);
    Program p = tile(plain(graph), 1, 0, Steps{step});
    p = attach(std::move(p), "t", "y", 1);
    expect_right(p);
    expect_right(vectorize(p, stage_of(p, "t"), 1, 4));
    expect_right(vectorize(p, stage_of(p, "t"), 0, 4));
  }
}

// A result that the caller wants too is stored in the whole tensor, ragged regions and all.
TEST(Nest, AttachedResultsThatAreOutputsStayInsideTheirTensor) {
  const Graph graph = parse_graph(
      "def main(float(17, 6) x) -> (t, y) {\n t(i, j) = x(i, j) * 2.0\n y(i, j) = t(i, j) + "
      "1.0\n}");
  for (int64_t step : {1, 4, 5, 16}) {
    SCOPED_TRACE(step);
    Program p = tile(plain(graph), 1, 0, Steps{step});
    p = attach(std::move(p), "t", "y", 1);
    EXPECT_EQ(p.scopes[p.graph.outputs[0].value], Scope::Argument);
    expect_right(p);
    expect_right(vectorize(p, stage_of(p, "t"), 1, 4));
    if (step > 1) expect_right(vectorize(p, stage_of(p, "t"), 0, 4));
    expect_right(parallel(p, stage_of(p, "y"), 1));
  }
}

// The same of reductions, which are resumed where a loop of theirs stands outside.
TEST(Nest, AttachedReductionsThatAreOutputsStayInsideTheirTensor) {
  const Graph graph = parse_graph(
      "def main(float(17, 12) x) -> (t, y) {\n t(i) +=! x(i, r) * x(i, r)\n y(i) = t(i) + 1.0\n}");
  for (int64_t step : {1, 4, 5, 16}) {
    SCOPED_TRACE(step);
    Program p = tile(plain(graph), 1, 0, Steps{step});
    p = attach(std::move(p), "t", "y", 1);
    expect_right(p);
    expect_right(vectorize(p, stage_of(p, "t"), 1, 4));
    expect_right(unroll(p, stage_of(p, "t"), 1, 3));
    if (step == 1) continue;
    Program resumed = tile(p, stage_of(p, "t"), 1, Steps{5});
    resumed = reorder(std::move(resumed), stage_of(p, "t"), std::vector<size_t>{1, 0, 2});
    expect_right(resumed);
    expect_right(vectorize(p, stage_of(p, "t"), 0, 4));
    expect_right(vectorize(resumed, stage_of(p, "t"), 0, 4));
    expect_right(unroll(resumed, stage_of(p, "t"), 0, 2));
    expect_right(parallel(resumed, stage_of(p, "y"), 1));
  }
}

TEST(Nest, ProducersInsideTheTilesOfAProduct) {
  const Graph graph = parse_graph(
      "def main(float(13, 20) x, float(20, 19) w) -> (c) {\n u(i, k) = abs(x(i, k))\n"
      " c(i, j) +=! u(i, r) * w(r, j)\n}");
  Program p = tile(plain(graph), 1, 0, Steps{4});
  p = tile(std::move(p), 1, 2, Steps{8});
  p = reorder(std::move(p), 1, std::vector<size_t>{0, 3, 1, 2, 4});
  p = attach(std::move(p), "u", "c", 2);
  expect_right(p);
  p = unroll(p, stage_of(p, "c"), 0, 2);
  p = vectorize(p, stage_of(p, "c"), 1, 8);
  expect_right(p);
}

}  // namespace
}  // namespace adjit::testing
