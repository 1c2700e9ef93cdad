// tests/autosched/cpu/passes/pack/panels_test.cpp -- layouts of copied operands.
#include "autosched/cpu/passes/pack/panels.hpp"

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

using Dimensions = std::vector<PackedDimension>;

// c(b, i, j) += a(b, i, r) * w(b, r, j)
Graph products() {
  return parse_graph(
      "def f(float(3, 20, 50) a, float(3, 50, 40) w) -> (c) { c(b, i, j) +=! a(b, i, r) * w(b, r, "
      "j) where b in 0:3, i in 0:20, j in 0:40, r in 0:50 }");
}

const MemoryAccess& access_to(const Graph& graph, const Accesses& accesses, const char* name) {
  for (const MemoryAccess& access : accesses.reads)
    if (graph.info(access.tensor).name == name) return access;
  throw std::runtime_error(name);
}

TEST(Panels, GoWhereTheirColumnsAre) {
  const LoweredGraph graph(products());
  const Stage& stage = graph.stages[0];
  const Accesses accesses = accesses_of(graph, stage);
  const MemoryAccess& w = access_to(graph, accesses, "w");
  EXPECT_EQ(dimension_of(graph, w, 2), 2u);
  EXPECT_EQ(dimension_of(graph, w, 3), 1u);
  EXPECT_EQ(dimension_of(graph, w, 1), SIZE_MAX) << "rows of c do not walk it";
  EXPECT_EQ(panels(graph, stage, w, 2, 16).dimensions,
            (Dimensions{{0, 1, 0}, {2, 16, 0}, {1, 1, 0}, {2, 1, 16}}));
  EXPECT_EQ(panels(graph, stage, w, 2, 64).dimensions,
            (Dimensions{{0, 1, 0}, {1, 1, 0}, {2, 1, 0}}))
      << "one panel holds all columns";
  EXPECT_EQ(as_it_is(graph, w.tensor).dimensions, (Dimensions{{0, 1, 0}, {1, 1, 0}, {2, 1, 0}}));
}

// Of tasks that walk a reduction: a task's part lies in one piece.
TEST(Panels, TasksStayOutermost) {
  const LoweredGraph graph(products());
  const Stage& stage = graph.stages[0];
  const Accesses accesses = accesses_of(graph, stage);
  const MemoryAccess& w = access_to(graph, accesses, "w");
  const size_t tasks[] = {3, 0}, columns[] = {2};
  EXPECT_EQ(panels(graph, stage, w, 2, 16, tasks).dimensions,
            (Dimensions{{1, 1, 0}, {0, 1, 0}, {2, 16, 0}, {2, 1, 16}}));
  EXPECT_EQ(panels(graph, stage, w, 2, 16, columns).dimensions,
            panels(graph, stage, w, 2, 16).dimensions)
      << "the panels' own dimension stays innermost";
}

TEST(Panels, InPairs) {
  const LoweredGraph graph(products());
  const Stage& stage = graph.stages[0];
  const Accesses accesses = accesses_of(graph, stage);
  const MemoryAccess& w = access_to(graph, accesses, "w");
  const Packing packing = in_pairs(panels(graph, stage, w, 2, 16), 1);
  EXPECT_EQ(packing.dimensions,
            (Dimensions{{0, 1, 0}, {2, 16, 0}, {1, 2, 0}, {2, 1, 16}, {1, 1, 2}}));
  const Program p = plain(graph);
  expect_faithful(pack(p, 0, w.tensor, packing), graph);
}

}  // namespace
}  // namespace adjit::sched
