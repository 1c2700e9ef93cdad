// tests/autosched/gpu/fuse_columns_test.cpp -- which rows are computed in the pass of a sum.
#include "autosched/gpu/fuse_columns.hpp"

#include "autosched/analysis/verify.hpp"
#include "autosched/gpu/cost/cost.hpp"
#include "autosched/program/shared_memory.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/gpu/nest_text.hpp"
#include "tests/autosched/gpu/norms.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/same_results.hpp"

namespace adjit::sched {
namespace {

// So slow that what is read once for twice decides, not the number of launches.
constexpr GpuMachine kOne{.multiprocessors = 1, .l2_gb = 1}, kTwo{.multiprocessors = 2, .l2_gb = 1};

Program with_columns(const Graph& graph, const GpuMachine& machine = kTwo) {
  Program program = fuse_columns(initial_program(graph, machine), machine);
  verify(program);
  expect_faithful(program, graph);
  EXPECT_EQ(print(replay(graph, program.moves_json, machine)), print(program));
  return program;
}

TEST(FuseColumns, AllGradientsOfALayerNormInOnePass) {
  const Program p = default_schedule(layer_norm(8192, 1024), kGpu);
  EXPECT_TRUE(p.fallbacks.empty());
  ASSERT_EQ(p.kernels.size(), 2u);
  EXPECT_EQ(loops_text(p, "dw_parts"),
            "parallel:i:256 serial:r_k:16 thread:r_k:2 thread:j:256 vector:j:4");
  EXPECT_EQ(loops_text(p, "dx"), "thread:i:2 thread:j:256 vector:j:4");
  EXPECT_EQ(loops_text(p, "m"), "thread:i:2 thread:r_j:256 vector:r_j:4");
  EXPECT_EQ(p.kernels.front().root.attached.size(), 3u);
}

TEST(FuseColumns, MeansTheGraph) {
  for (const auto& [rows, width] : {std::pair<int64_t, int64_t>{64, 32},
                                    {65, 32},
                                    {96, 33},
                                    {50, 64},
                                    {200, 4},
                                    {40, 1},
                                    {64, 600}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(width));
    const Graph graph = layer_norm(rows, width);
    EXPECT_TRUE(computes_rows_in_sums(with_columns(graph, kOne)) || width == 1);
    testing::expect_same_results(graph, default_schedule(graph, kOne), 1);
  }
}

Graph two_leading_axes() {
  return parse_graph(
      "def f(float(6, 40, 128) x, float(6, 40, 128) g) -> (dx, dw) {\n"
      " m(b, i) +=! x(b, i, r)\n dx(b, i, j) = g(b, i, j) * m(b, i)\n"
      " dw(j) +=! g(r_b, r, j) * x(r_b, r, j)\n}");
}

TEST(FuseColumns, LeadingAxesAreRowsToo) {
  const Graph graph = two_leading_axes();
  const Program p = with_columns(graph);
  EXPECT_EQ(p.kernels.size(), 2u);
  EXPECT_EQ(loops_text(p, "dw_parts"),
            "parallel:i:2 serial:r_k:6 serial:r_l:5 thread:r_l:4 thread:j:32 vector:j:4");
}

// A bias for each row of a batch: blocks take rows of the bias, and no parts are left to add up.
TEST(FuseColumns, SumsOverABatchAlone) {
  const Graph graph = parse_graph(
      "def f(float(8, 640, 32) y, float(8, 640, 32) g) -> (dz, db) {\n"
      " s(b, i) +=! y(b, i, r) * g(b, i, r)\n"
      " dz(b, i, j) = y(b, i, j) * (g(b, i, j) - s(b, i))\n db(i, j) +=! dz(r_b, i, j)\n}");
  const Program p = with_columns(graph);
  ASSERT_EQ(p.kernels.size(), 1u);
  EXPECT_EQ(loops_text(p, "db").substr(0, 16), "parallel:i:640 s");
}

// Rows of two axes: all their points are columns.
TEST(FuseColumns, RowsOfTwoAxes) {
  const Graph graph = parse_graph(
      "def f(float(64, 4, 32) x, float(64, 4, 32) g) -> (dx, dw) {\n"
      " m(i) +=! x(i, r_j, r)\n dx(i, j, k) = g(i, j, k) * m(i)\n"
      " dw(j, k) +=! g(r, j, k) * x(r, j, k)\n}");
  const Program p = with_columns(graph);
  EXPECT_EQ(p.kernels.size(), 2u);
}

// Nothing needs a whole row: blocks take tiles of columns, so that there are fewer parts.
TEST(FuseColumns, ABiasAndWhatIsInFrontOfIt) {
  const Graph graph = parse_graph(
      "def f(float(4096, 2048) z, float(4096, 2048) g) -> (dz, db) {\n"
      " dz(i, j) = select(z(i, j) > 0.0, g(i, j), 0.0)\n db(j) +=! dz(r, j)\n}");
  const Program p = default_schedule(graph, kGpu);
  ASSERT_EQ(p.kernels.size(), 2u);
  EXPECT_EQ(loops_text(p, "db_parts"),
            "parallel:i:16 parallel:j:16 serial:r_k:16 thread:r_k:16 thread:j:32 vector:j:4");
  EXPECT_TRUE(p.fallbacks.empty());
}

TEST(FuseColumns, FewRowsAndOtherPassesStayAsTheyAre) {
  const auto moves = [](const Graph& graph) {
    return fuse_columns(initial_program(graph, kGpu), kGpu).moves_json;
  };
  EXPECT_EQ(moves(layer_norm(200, 1024)), "[]") << "strips would not fill the card";
  EXPECT_EQ(moves(column_sum_graph(8192, 1024)), "[]") << "there is nothing beside the sum";
  EXPECT_EQ(moves(softmax_graph(8192, 1024)), "[]") << "there is no sum over rows";
  EXPECT_EQ(moves(matmul_graph(1024, 1024, 1024)), "[]");
  // What is computed of the sum cannot be computed with it.
  EXPECT_EQ(moves(parse_graph("def f(float(8192, 1024) x) -> (y) {\n s(j) +=! x(r, j)\n"
                              " y(i, j) = x(i, j) / s(j)\n}")),
            "[]");
}

TEST(FuseColumns, WhatTheModelDoesNotLikeStaysAsItIs) {
  const auto moves = [](const GpuMachine& machine) {
    return fuse_columns(initial_program(two_leading_axes(), machine), machine).moves_json;
  };
  EXPECT_NE(moves(kTwo), "[]");
  // Two kernels either way, and what they read costs nothing.
  EXPECT_EQ(moves({.multiprocessors = 2, .l2_gb = 1e9, .launch_microseconds = 1e6}), "[]");
}

// A block computes a product's tile where it is read: that is not taken apart.
TEST(FuseColumns, EpiloguesStayWithTheirProducts) {
  const Program p = fuse_columns(
      initial_program(
          parse_graph("def f(float(4096, 512) a, float(512, 1024) b, float(4096, 1024) y)"
                      " -> (dz, db) {\n t(i, j) +=! a(i, r) * b(r, j)\n"
                      " dz(i, j) = select(y(i, j) > 0.0, t(i, j), 0.0)\n"
                      " db(j) +=! dz(r, j)\n}"),
          kGpu),
      kGpu);
  EXPECT_EQ(p.moves_json, "[]");
}

TEST(FuseColumns, RowsAreKeptWhileThereIsRoom) {
  for (const int64_t width : {1024, 4096, 8192, 16384}) {
    const Graph graph =
        parse_graph("def f(float(4096, " + std::to_string(width) +
                    ") x) -> (y, s) {\n"
                    " e(i, j) = exp(x(i, j))\n t(i) +=! e(i, r)\n y(i, j) = e(i, j) / t(i)\n"
                    " s(j) +=! e(r, j) * x(r, j)\n}");
    const Program p = default_schedule(graph, kGpu);
    EXPECT_TRUE(p.fallbacks.empty());
    for (const Kernel& kernel : p.kernels)
      EXPECT_LE(shared_bytes(p, kernel), kGpu.block_shared_bytes) << width;
  }
}

}  // namespace
}  // namespace adjit::sched
