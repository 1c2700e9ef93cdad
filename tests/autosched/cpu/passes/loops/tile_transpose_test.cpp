// tests/autosched/cpu/passes/loops/tile_transpose_test.cpp -- copies whose lanes lie apart in what
// they read.
#include "autosched/cpu/passes/loops/tile_transpose.hpp"

#include "autosched/lower/initial_program.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// 3 x 3 weights in panels of 32 channels, as the adjoint of a convolution reads them.
Graph panels_of_weights(int64_t channels) {
  const std::string c = std::to_string(channels), p = std::to_string(channels / 32);
  return parse_graph("def f(float(" + c + ", " + c +
                     ", 3, 3) w) -> (y) { y(i, j, k, l, m) = w(j, " +
                     "32 * i + m, k, l) where i in 0:" + p + ", j in 0:" + c +
                     ", k in 0:3, l in 0:3, m in 0:32 }");
}

TileChoice lanes_along(const Stage& stage, size_t axis) {
  TileChoice tile;
  tile.vector_axis = axis;
  tile.lanes = 16;
  tile.factors.assign(stage.domain.rank(), 1);
  return tile;
}

TEST(Transposition, IsWhereLanesLieApart) {
  const LoweredGraph g(panels_of_weights(128));
  const Stage& stage = g.stages.back();
  const Accesses accesses = accesses_of(g, stage);
  EXPECT_EQ(transposed_along(stage, lanes_along(stage, 4), accesses), 3u);
  EXPECT_EQ(transposed_along(stage, lanes_along(stage, 3), accesses), 4u) << "its stores lie apart";
  const LoweredGraph plain(parse_graph("def f(float(8, 64) x) -> (y) { y(i, j) = x(i, j) }"));
  const Stage& copy = plain.stages.back();
  EXPECT_FALSE(transposed_along(copy, lanes_along(copy, 1), accesses_of(plain, copy)));
}

// A step along a channel's number moves by one element within a pair, and by a row after it: the
// operand is not contiguous along it.
TEST(Transposition, IsNotAlongAxesThatDivide) {
  const LoweredGraph g(parse_graph(
      "def f(float(8, 16, 112, 112) x) -> (y) { y(i, j, k, l) = x(i, j // 4, 2 * k + j // 2 % 2, "
      "2 * l + j % 2) where i in 0:8, j in 0:64, k in 0:56, l in 0:56 }"));
  const Stage& stage = g.stages.back();
  EXPECT_FALSE(transposed_along(stage, lanes_along(stage, 3), accesses_of(g, stage)));
  const Program program = default_schedule(g, CpuMachine{.cores = 2});
  const Nest& nest = program.kernels.back().root;
  std::vector<size_t> axes;
  for (size_t l = 0; l < tile_begin(nest); ++l)
    if (axes.empty() || axes.back() != nest.loops[l].axis) axes.push_back(nest.loops[l].axis);
  EXPECT_EQ(axes, (std::vector<size_t>{0, 1, 2})) << print(program);
}

// 1152 bytes of the panels are written at a time, and read one after the other.
TEST(Transposition, CopiesReadTheirOperandInOrder) {
  const Graph g = panels_of_weights(256);
  const Program program = default_schedule(g, CpuMachine{.cores = 2});
  const Nest& nest = program.kernels.back().root;
  std::vector<size_t> axes;
  for (size_t l = 0; l < tile_begin(nest); ++l)
    if (axes.empty() || axes.back() != nest.loops[l].axis) axes.push_back(nest.loops[l].axis);
  EXPECT_EQ(axes, (std::vector<size_t>{1, 0, 2, 4, 3})) << print(program);
  expect_faithful(default_schedule(panels_of_weights(64), CpuMachine{.cores = 2}),
                  panels_of_weights(64));
}

// Of a plain transposition the rows of the result stay whole: nothing moves.
TEST(Transposition, RowsOfResultsStayWhole) {
  const LoweredGraph g(parse_graph("def f(float(300, 700) x) -> (y) { y(i, j) = x(j, i) }"));
  Program program = vectorize(initial_program(g, CpuMachine{1, 512}), 0, 1, 16);
  const std::string before = print(program);
  program = walk_operand(std::move(program), 0, accesses_of(g, g.stages.back()));
  EXPECT_EQ(print(program), before);
}

// Two operands lie in different orders.
TEST(Transposition, OfTwoOperandsNeitherIsPreferred) {
  const LoweredGraph g(parse_graph(
      "def f(float(64, 64, 512) x, float(64, 64, 512) z) -> (y) { y(i, j, k) = x(j, i, k) + z(i, "
      "j, "
      "k) }"));
  const Program before = vectorize(initial_program(g, CpuMachine{1, 512}), 0, 2, 16);
  const Program after = walk_operand(before, 0, accesses_of(g, g.stages.back()));
  EXPECT_EQ(print(after), print(before));
}

}  // namespace
}  // namespace adjit::sched
