// Which sums of products of bfloat16 take two points of their reduction at once.
#include "autosched/cpu/passes/pack/bf16_pairs.hpp"

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

Graph product(int64_t terms, const std::string& type = "bfloat16") {
  const std::string n = std::to_string(terms);
  return parse_graph("def main(" + type + "(64, " + n + ") a, " + type + "(" + n +
                     ", 64) b) -> (c) {\n  c(i, j) +=! float(a(i, r)) * float(b(r, j))\n}");
}

std::optional<size_t> pairs(const Graph& graph, bool available = true) {
  CpuMachine machine{2, 512};
  machine.bfloat16_pairs = available;
  return pair_axis(graph, graph.stages[0], accesses_of(LoweredGraph(graph), graph.stages[0]),
                   machine);
}

TEST(OperandPairs, AlongTheReductionOfBfloat16) {
  EXPECT_EQ(pairs(product(64)), 2u);
  EXPECT_EQ(pairs(product(64), false), std::nullopt) << "no such instruction";
  EXPECT_EQ(pairs(product(63)), std::nullopt) << "one is left over";
  EXPECT_EQ(pairs(product(4)), std::nullopt) << "few";
  EXPECT_EQ(pairs(product(64, "float16")), std::nullopt);
}

TEST(OperandPairs, LieSideBySideInnermost) {
  const LoweredGraph graph(product(64));
  const Stage& stage = graph.stages[0];
  const Accesses accesses = accesses_of(graph, stage);
  TileChoice tile;
  tile.vector_axis = 1;
  tile.lanes = 16;
  tile.factors = {4, 2, 1};
  for (const MemoryAccess& access : accesses.reads) {
    const std::optional<Packing> packing = pairs_of(graph, stage, access, tile, 2, {});
    ASSERT_TRUE(packing);
    EXPECT_EQ(packing->dimensions.back().dim, access.depends_on(1) ? 0u : 1u);
    expect_faithful(pack(plain(graph), 0, access.tensor, *packing), graph);
  }
}

}  // namespace
}  // namespace adjit::sched
