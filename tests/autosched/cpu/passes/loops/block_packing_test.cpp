// tests/autosched/cpu/passes/loops/block_packing_test.cpp -- some rows of all panels before the
// next rows.
#include "autosched/cpu/passes/loops/block_packing.hpp"

#include "autosched/lower/initial_program.hpp"
#include "autosched/program/nests.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// The loops of a copy of `rows` rows of so many floats in panels of `width` outside its tile:
// axes with their steps, before and after.
struct Loops {
  std::string before, after;
};

std::string loops_of(const Program& program) {
  const Nest& nest = nest_of(program, 0);
  std::string text;
  for (size_t l = 0; l < tile_begin(nest); ++l)
    text += axis_names(program.graph.stages[0])[nest.loops[l].axis] +
            std::to_string(nest.loops[l].step) + " ";
  return text;
}

Loops chunks_of(const Graph& graph) {
  Program program = initial_program(graph, CpuMachine{1, 512});
  program = vectorize(std::move(program), 0, graph.stages[0].domain.output_rank - 1, 16);
  Loops loops{loops_of(program), {}};
  const Accesses accesses = accesses_of(LoweredGraph(graph), graph.stages[0]);
  program = copy_in_chunks(std::move(program), 0, accesses);
  loops.after = loops_of(program);
  expect_faithful(program, graph);
  return loops;
}

Loops chunks(int64_t rows, int64_t row, int64_t width) {
  const auto text = [](int64_t n) { return std::to_string(n); };
  const std::string w = text(width), panels = text(row / width);
  return chunks_of(parse_graph(
      "def f(float(" + text(rows) + ", " + text(row) + ") x) -> (y) { y(i, j, k) = x(j, " + w +
      " * i + k) where i in 0:" + panels + ", j in 0:" + text(rows) + ", k in 0:" + w + " }"));
}

TEST(CopyChunks, SomeRowsOfAllPanels) {
  const Loops loops = chunks(300, 280, 14);
  EXPECT_EQ(loops.before, "i1 j1 ");
  EXPECT_EQ(loops.after, "j32 i1 j1 ");
}

TEST(CopyChunks, RowsOfTwoAxes) {
  const Loops loops = chunks_of(
      parse_graph("def f(float(20, 32, 280) x) -> (y) { y(i, j, k, l) = x(j, k, 14 * i + l)"
                  " where i in 0:20, j in 0:20, k in 0:32, l in 0:14 }"));
  EXPECT_EQ(loops.before, "i1 j1 k1 ");
  EXPECT_EQ(loops.after, "j1 i1 k1 ");
}

TEST(CopyChunks, NotWherePanelsShareNothing) {
  EXPECT_EQ(chunks(300, 288, 16).after, "i1 j1 ") << "each its own cache lines";
  EXPECT_EQ(chunks(40, 280, 14).after, "i1 j1 ") << "few pages, few rows";
  EXPECT_EQ(chunks(300, 70, 14).after, "i1 j1 ") << "rows are near each other";
}

}  // namespace
}  // namespace adjit::sched
