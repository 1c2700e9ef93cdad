// tests/jit/emit/nest_test.cpp -- loops of every kind with ragged ends, rows as bounds and guards,
// attached nests.
#include "jit/emit/nest.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/text.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

using Steps = std::vector<int64_t>;

void expect_right(const Program& program) {
  EXPECT_EQ(check_emitted(program, small_inputs(program.graph, 3)), "") << print(program);
}

Program attach(Program p, const char* stage, const char* host, size_t depth) {
  const size_t s = stage_of(p, stage), h = stage_of(p, host);
  return compute_at(std::move(p), s, h, depth);
}

// Every extent around a tile of 8: shorter, whole, one more, ...
TEST(Nest, RaggedEndsOfEveryKindOfLoop) {
  for (int64_t n : {2, 3, 7, 8, 9, 15, 16, 17, 31}) {
    SCOPED_TRACE(n);
    const std::string extent = std::to_string(n);
    const Graph graph = parse_graph("def main(float(3, " + extent +
                                    ") x) -> (y) { y(i, j) = x(i, j) "
                                    "* 2.0 }");
    expect_right(tile(plain(graph), 0, 1, Steps{8}));
    expect_right(tile(plain(graph), 0, 1, Steps{8, 4}));
    expect_right(vectorize(plain(graph), 0, 1, 8));
    if (n >= 8) {
      expect_right(unroll(plain(graph), 0, 1, 8));
      expect_right(unroll(vectorize(plain(graph), 0, 1, 4), 0, 1, 2));
      expect_right(vectorize(tile(plain(graph), 0, 1, Steps{8}), 0, 1, 4));
      expect_right(unroll(vectorize(tile(plain(graph), 0, 1, Steps{8}), 0, 1, 2), 0, 1, 2));
      expect_right(parallel(tile(plain(graph), 0, 1, Steps{8}), 0, 2));
      expect_right(parallel(vectorize(plain(graph), 0, 1, 8), 0, n > 8 ? 2 : 1));
      expect_right(parallel(unroll(vectorize(plain(graph), 0, 1, 4), 0, 1, 2), 0, n > 8 ? 2 : 1));
    }
  }
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

// A tile longer than its axis, run in parallel: its tasks without points read and write nothing.
TEST(Nest, TasksWithoutPoints) {
  const Graph graph =
      parse_graph("def main(float(3) x, float(3, 6) z) -> (y) { y(i, j) = exp(x(i)) * z(i, j) }");
  for (int64_t step : {2, 5}) {
    const Program p = parallel(tile(plain(graph), 0, 0, Steps{step}), 0, 2);
    expect_right(p);
    expect_right(vectorize(p, 0, 1, 4));
  }
  expect_right(parallel(tile(tile(plain(graph), 0, 0, Steps{4, 2}), 0, 1, Steps{4}), 0, 5));
}

// A whole tile's reads stay behind the question whether the tile is whole.
TEST(Nest, ReadsOfWholeTilesStayOutOfTheRaggedTask) {
  const Graph graph =
      parse_graph("def main(float(10) x, float(10, 7) z) -> (y) { y(i) +=! exp(x(i)) * z(i, r) }");
  for (int64_t factor : {2, 3, 4}) {
    const Program p = unroll(plain(graph), 0, 0, factor);
    expect_right(parallel(p, 0, 1));
    expect_right(parallel(vectorize(plain(graph), 0, 0, 4), 0, 1));
  }
}

TEST(Nest, RaggedTilesOfTilesWithTheReductionInside) {
  for (const auto& [m, n, k] :
       {std::tuple{13, 37, 29}, {12, 32, 28}, {5, 7, 3}, {1, 1, 1}, {14, 33, 2}}) {
    SCOPED_TRACE(m);
    const Graph graph = matmul_graph(m, n, k);
    Program program = plain(graph);
    if (m >= 3) program = unroll(std::move(program), 0, 0, 3);
    if (n >= 7) program = vectorize(std::move(program), 0, 1, 4);
    expect_right(program);
    if (m >= 12) {
      program = tile(plain(graph), 0, 0, Steps{12});
      program = tile(std::move(program), 0, 1, Steps{16});
      program = tile(std::move(program), 0, 2, Steps{10});
      const size_t loops = program.kernels[0].root.loops.size();
      ASSERT_EQ(loops, 6u);
      // i/12, j/16, k/10, i, j, k: the partial result is resumed at every tile of k.
      program = reorder(std::move(program), 0, std::vector<size_t>{0, 2, 4, 1, 3, 5});
      expect_right(program);
      program = unroll(std::move(program), 0, 0, 4);
      program = vectorize(std::move(program), 0, 1, 8);
      expect_right(program);
      expect_right(parallel(std::move(program), 0, 2));
    }
  }
}

struct Rows {
  const char* name;
  const char* where;
};

class NestRows : public ::testing::TestWithParam<Rows> {};

// y[i, j] over r: conditions between outputs and the reduction, under every schedule.
TEST_P(NestRows, AreBoundsGuardsAndMasks) {
  const Graph graph = parse_graph(
      std::string(
          "def main(float(11, 13) x, float(13, 9) w) -> (y) { y(i, j) +=! x(i, r) * w(r, j) "
          "where i in 0:11, j in 0:9, r in 0:13, ") +
      GetParam().where + " }");
  expect_right(plain(graph));
  expect_right(tile(plain(graph), 0, 2, Steps{4}));
  expect_right(reorder(tile(plain(graph), 0, 2, Steps{5}), 0, std::vector<size_t>{2, 0, 1, 3}));
  expect_right(vectorize(plain(graph), 0, 1, 8));
  expect_right(vectorize(plain(graph), 0, 0, 4));
  expect_right(vectorize(plain(graph), 0, 2, 8));
  expect_right(unroll(plain(graph), 0, 0, 4));
  expect_right(unroll(plain(graph), 0, 2, 4));
  expect_right(vectorize(unroll(unroll(plain(graph), 0, 0, 2), 0, 2, 3), 0, 1, 4));
  expect_right(vectorize(unroll(plain(graph), 0, 0, 3), 0, 2, 4));
  expect_right(parallel(vectorize(tile(plain(graph), 0, 0, Steps{4}), 0, 1, 4), 0, 2));
}

INSTANTIATE_TEST_SUITE_P(Domains, NestRows,
                         ::testing::Values(Rows{"LowerTriangle", "r <= i"},
                                           Rows{"StrictUpper", "r > i"},
                                           Rows{"Band", "r <= i + 1, i <= r + 2"},
                                           Rows{"Equal", "r == i"}, Rows{"Twice", "r == 2 * i"},
                                           Rows{"Half", "2 * r == i"},
                                           Rows{"Scaled", "3 * r <= 2 * i + j"},
                                           Rows{"Parity", "q = (i + r) // 2, i + r == 2 * q"},
                                           Rows{"Quotient", "q = r // 3, q == j // 3"},
                                           Rows{"QuotientAndBound", "q = r // 3, q <= i, r >= j"},
                                           Rows{"OutputOnly", "i + j <= 12"},
                                           Rows{"OutputParity", "q = i // 2, i == 2 * q"},
                                           Rows{"ThreeAtOnce", "r <= i, j <= r, i <= j + 5"},
                                           Rows{"Nowhere", "r <= i, r > i"},
                                           Rows{"NegativeSlope", "r + i >= 9, r + j <= 11"}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Nest, BoundsNarrowTheLoopInsteadOfGuardingIt) {
  const Graph graph = parse_graph(
      "def main(float(50) x) -> (y) { y(i) +=! x(r) where i in 0:50, r in 0:50, r <= i }");
  const std::string ir = EmittedProgram(plain(graph)).ir();
  EXPECT_EQ(occurrences(ir, "\nthen"), 0u) << "no branch in the loop";
  const Graph parity = parse_graph(
      "def main(float(50) x) -> (y) { y(i) +=! x(r) where i in 0:50, r in 0:50, q = (i + r) // 2, "
      "i "
      "+ r == 2 * q }");
  EXPECT_EQ(occurrences(EmittedProgram(plain(parity)).ir(), "\nthen"), 1u);
}

TEST(Nest, RowsOfAStageWithoutReduction) {
  Builder b;
  const TensorId x = b.input("x", {9, 13});
  b.output(b.stage("y", {9, 13}, 2, CombinerKind::None, b.at(x, {b.axis(0), b.axis(1)})));
  Domain& domain = b.graph.stages[0].domain;
  domain.inequalities.push_back(Affine::variable(1) - Affine::variable(0));
  const size_t q = domain.add_division(Affine::variable(1), 3);
  domain.equalities.push_back(Affine::variable(1) - Affine::variable(q, 3, 1));
  expect_right(plain(b.graph));
  expect_right(vectorize(plain(b.graph), 0, 1, 8));
  expect_right(vectorize(unroll(plain(b.graph), 0, 0, 4), 0, 1, 4));
  expect_right(parallel(vectorize(plain(b.graph), 0, 0, 4), 0, 1));
}

TEST(Nest, ZeroExtents) {
  for (const char* shape : {"0, 5", "5, 0", "0, 0"}) {
    const Graph graph =
        parse_graph(std::string("def main(float(") + shape +
                    ") x) -> (y, s, t) { y(i, j) = x(i, j) + 1.0\n s(i) +=! x(i, r)\n"
                    " t() +=! x(r, q) }");
    expect_right(plain(graph));
  }
  const Graph product = matmul_graph(4, 6, 0);
  expect_right(plain(product));
  expect_right(vectorize(unroll(plain(product), 0, 0, 2), 0, 1, 4));
}

TEST(Nest, ScalarsHaveNoLoops) {
  const Graph graph =
      parse_graph("def main(float x) -> (y, z) { y() = x() + 1.0\n z() = y() * 3.0 }");
  expect_right(plain(graph));
  EXPECT_EQ(occurrences(EmittedProgram(plain(graph)).ir(0), "br "), 0u);
}

// ---- Attached nests

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
    p = vectorize(std::move(p), stage_of(p, "r"), 1, 16);
    if (rows < 13) p = tile(std::move(p), stage_of(p, "y"), 0, Steps{rows});
    p = parallel(std::move(p), stage_of(p, "y"), 1);
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

TEST(Nest, WholeLoopsAreTestedOnlyAtTheirEnd) {
  const Graph graph = parse_graph("def main(float(64) x) -> (y) { y(i) = x(i) * 2.0 }");
  const std::string ir = EmittedProgram(vectorize(plain(graph), 0, 0, 16)).ir();
  EXPECT_EQ(occurrences(ir, "icmp"), 1u) << ir;
  EXPECT_EQ(occurrences(ir, "br i1"), 1u);
}

// Copies of long bodies, and vectors that are many vectors, are more code than their number says.
TEST(Nest, CopiesThatTakeTooMuchCodeAreRefused) {
  const Graph graph = parse_graph(
      "def main(float(9, 9, 9, 35) x) -> (y) {\n"
      "  y(i, j, k, l) = exp(sin(x(i, j, k, l)) * tanh(x(i, j, k, l))) + lgamma(x(i, j, k, l))\n}");
  const auto emitted = [&](int64_t lanes, int64_t copies) {
    Program p = vectorize(plain(graph), 0, 3, lanes);
    for (size_t axis : {0, 1, 2}) p = unroll(std::move(p), 0, axis, copies);
    EmittedProgram{p};
  };
  EXPECT_NO_THROW(emitted(4, 2));
  expect_refused([&] { emitted(16, 8); }, "copies of the long body of stage 'y'");
}

}  // namespace
}  // namespace adjit::testing
