// tests/autosched/moves/attached/attachment_test.cpp -- stages computed in the loops of those that
// read the same.
#include "autosched/moves/attached/attachment.hpp"

#include "autosched/analysis/verify.hpp"
#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

using Order = std::vector<size_t>;

std::vector<Affine> axes(std::initializer_list<size_t> numbers) {
  std::vector<Affine> indices;
  for (size_t n : numbers) indices.push_back(Affine::variable(n));
  return indices;
}

// A row's result, and sums of columns, of the same two tensors.
Graph rows_and_columns(int64_t rows) {
  const std::string shape = "float(" + std::to_string(rows) + ", 6) ";
  return parse_graph("def f(" + shape + "x, " + shape +
                     "g) -> (dx, dw) {\n m(i) +=! x(i, r)\n"
                     " dx(i, j) = g(i, j) * m(i)\n dw(j) +=! g(r, j) * x(r, j)\n}");
}

TEST(ComputeWith, ARowInThePassOfASum) {
  const Graph g = rows_and_columns(5);
  Program p = plain_on_gpu(g);
  p = reorder(p, stage_of(p, "dw"), Order{1, 0});
  p = compute_with(p, stage_of(p, "dx"), stage_of(p, "dw"), 1, axes({1, 0}));
  EXPECT_EQ(p.kernels.size(), 2u);
  const Nest& dx = p.kernels.back().root.attached.front().nest;
  EXPECT_EQ(dx.spans, (std::vector<int64_t>{1, 6}));
  EXPECT_EQ(p.scopes[g.outputs[0].value], Scope::Argument);
  verify(p);
  expect_faithful(p, g);
  p = compute_at(p, stage_of(p, "m"), stage_of(p, "dw"), 1);
  EXPECT_EQ(p.kernels.size(), 1u) << "what the row needs comes, too";
  verify(p);
  expect_faithful(p, g);
  EXPECT_EQ(print(replay(g, p.moves_json, p.target)), print(p));
  p = threads(p, stage_of(p, "dw"), 0, 6);
  p = threads(p, stage_of(p, "dx"), 1, 6);
  p = threads(p, stage_of(p, "m"), 1, 6);
  verify(p);
  expect_faithful(p, g);
}

// Row 4 p + r of the tensor: the parts and their rows number its rows, of which the last part has
// fewer.
TEST(ComputeWith, RowsOfStrips) {
  for (const int64_t rows : {12, 11, 9}) {
    const Graph g = rows_and_columns(rows);
    Program p = plain_on_gpu(g);
    p = rfactor(p, stage_of(p, "dw"), 1, 3);
    const size_t host = stage_of(p, "dw_parts");
    const int64_t strip = (rows + 2) / 3;
    const std::vector<Affine> indices{Affine::variable(0, strip) + Affine::variable(2),
                                      Affine::variable(1)};
    const Program groups =
        reorder(tile(p, host, 2, std::vector<int64_t>{2}), host, Order{0, 2, 3, 1});
    p = reorder(p, host, Order{0, 2, 1});
    p = compute_with(p, stage_of(p, "dx"), host, 2, indices);
    p = compute_at(p, stage_of(p, "m"), stage_of(p, "dw_parts"), 2);
    p = parallel(p, stage_of(p, "dw_parts"), 1);
    verify(p);
    expect_faithful(p, g);
    const auto in_groups = [&] { return compute_with(groups, 1, 2, 2, indices); };
    if (strip % 2 == 0) {
      const Program grouped = in_groups();
      EXPECT_EQ(nest_of(grouped, stage_of(grouped, "dx")).spans, (std::vector<int64_t>{2, 6}));
      verify(grouped);
      expect_faithful(grouped, g);
    } else {  // a strip's last group would have a row of the next strip
      expect_refused(in_groups, "exactly once");
    }
  }
}

TEST(ComputeWith, Refusals) {
  const Graph g = rows_and_columns(5);
  Program p = plain_on_gpu(g);
  const size_t dx = stage_of(p, "dx"), dw = stage_of(p, "dw"), m = stage_of(p, "m");
  const Program rows = reorder(p, dw, Order{1, 0});
  expect_refused([&] { compute_with(rows, dx, dw, 1, axes({1})); }, "an index for each dimension");
  expect_refused([&] { compute_with(rows, dx, dw, 1, axes({1, 2})); }, "over the host's axes");
  expect_refused([&] { compute_with(rows, dx, dw, 1, axes({0, 1})); }, "exactly once");
  expect_refused([&] { compute_with(rows, dx, dw, 1, axes({1, 1})); }, "exactly once");
  expect_refused([&] { compute_with(p, dx, dw, 1, axes({1, 1})); }, "exactly once");
  expect_refused(
      [&] {
        compute_with(rows, dx, dw, 1, std::vector<Affine>{Affine::variable(1, 1, 1), axes({0})[0]});
      },
      "exactly once");
  expect_refused([&] { compute_with(rows, m, dw, 1, axes({1})); }, "read before the host runs");
  expect_refused([&] { compute_with(rows, m, dx, 1, axes({0})); }, "compute_at knows where");
  expect_refused([&] { compute_with(rows, dw, dx, 1, axes({1})); }, "runs before");
  expect_refused([&] { compute_with(parallel(p, dw, 1), m, dw, 1, axes({1})); }, "exactly once");
}

TEST(ComputeWith, PartsOfRowsWhereColumnsAreTiled) {
  const Graph g = rows_and_columns(5);
  Program p = plain_on_gpu(g);
  p = tile(p, stage_of(p, "dw"), 0, std::vector<int64_t>{4});
  p = reorder(p, stage_of(p, "dw"), Order{0, 2, 1});
  p = parallel(p, stage_of(p, "dw"), 1);
  p = compute_with(p, stage_of(p, "dx"), stage_of(p, "dw"), 2, axes({1, 0}));
  verify(p);
  expect_faithful(p, g);
  expect_refused([&] { compute_at(p, stage_of(p, "m"), stage_of(p, "dw"), 3); },
                 "nothing in the host reads it there");
}

// A loop over a reduction is left where the host has no more points.
TEST(ComputeWith, IsRefusedWhereTheHostDoesNotComeToAllRows) {
  const Graph g = parse_graph(
      "def f(float(6, 6) x) -> (y, s) {\n y(i, j) = exp(x(i, j))\n"
      " s(j) +=! x(r, j) where j in 0:6, r in 0:6, r + 2 <= 5\n}");
  const Program p = reorder(plain_on_gpu(g), 1, Order{1, 0});
  expect_refused([&] { compute_with(p, 0, 1, 1, axes({1, 0})); }, "exactly once");
}

TEST(ComputeAt, IsRefusedWhereOthersReadWhatTheHostDoesNotComeTo) {
  const Graph g = parse_graph(
      "def f(float(6, 6) x) -> (y, s) {\n y(i, j) = exp(x(i, j))\n"
      " s(i) +=! y(i, r) where i in 0:6, r in 0:6, r <= i\n}");
  expect_refused([&] { compute_at(plain(g), 0, 1, 2); }, "exactly once");
  expect_faithful(compute_at(plain(g), 0, 1, 1), g);
}

TEST(VerifyProgram, WhatNobodyReadsInItsKernelIsComputedWhole) {
  const Graph g = rows_and_columns(5);
  Program p = reorder(plain_on_gpu(g), 2, Order{1, 0});
  p = compute_with(p, 1, 2, 1, axes({1, 0}));
  p.kernels.back().root.attached.front().nest.axis_base[0] = Affine(0);
  try {
    verify(p);
    FAIL() << "each row is stored where the first one is";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("each of its points once"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace adjit::sched
