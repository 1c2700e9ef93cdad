// tests/autosched/cpu/passes/pack/profit_test.cpp -- operands whose rows a tile waits for.
#include "autosched/cpu/passes/pack/profit.hpp"

#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// What a tile of 14 rows by 2 vectors of 16 lanes finds of the operands of t(i, j) +=! a(r, i) *
// b(r, j), on a core that starts so many bits of multiply-adds in a cycle.
struct Found {
  bool far = false, waits = false;  // the lanes' operand, b
  size_t conflicting = SIZE_MAX;    // a
};

Found found(int64_t steps, int64_t rows, int64_t columns, int fma_bits) {
  const auto text = [](int64_t n) { return std::to_string(n); };
  const Graph g =
      parse_graph("def f(float(" + text(steps) + ", " + text(rows) + ") a, float(" + text(steps) +
                  ", " + text(columns) + ") b) -> (t) { t(i, j) +=! a(r, i) * b(r, j) }");
  const Stage& stage = g.stages.back();
  const Accesses accesses = accesses_of(LoweredGraph(g), stage);
  CpuMachine machine{2, 512};
  machine.fma_bits = fma_bits;
  const TileChoice tile{
      .vector_axis = 1, .lanes = 16, .factors = {14, 2, 1}, .cycles = 1, .packed = {}};
  const OperandRows operands(g, stage, accesses, tile, machine);
  const bool first = accesses.reads[0].depends_on(1);
  const MemoryAccess &b = accesses.reads[first ? 0 : 1], &a = accesses.reads[first ? 1 : 0];
  return {operands.far(b), operands.waits_for(b), operands.conflicting(a)};
}

TEST(OperandRows, WaitsWhereTwoMultiplyAddsStart) {
  EXPECT_TRUE(found(256, 512, 784, 1024).waits) << "196 pages";
  EXPECT_FALSE(found(256, 512, 784, 512).waits);
  EXPECT_FALSE(found(64, 512, 784, 1024).waits) << "49 pages";
  EXPECT_FALSE(found(256, 64, 784, 1024).waits) << "too few reads for a copy";
}

TEST(OperandRows, FarRowsAreCopiedInAnyCase) {
  EXPECT_TRUE(found(64, 512, 1024, 512).far) << "4096 bytes apart";
  EXPECT_FALSE(found(64, 512, 1008, 512).far);
  EXPECT_TRUE(found(600, 512, 1008, 512).far) << "more than 2 MB";
  EXPECT_FALSE(found(64, 40, 1024, 512).far) << "too few reads for a copy";
}

TEST(OperandRows, ConflictingRowsAreCopiedAlongTheTile) {
  EXPECT_EQ(found(512, 512, 512, 512).conflicting, 0u) << "2048 bytes apart";
  EXPECT_EQ(found(128, 512, 512, 512).conflicting, SIZE_MAX) << "a short reduction";
  EXPECT_EQ(found(512, 500, 512, 512).conflicting, SIZE_MAX);
}

// A tile of 6 x 2 vectors waits for the lines of rows that leave L1; one of 14 x 2 has
// twice as many multiply-adds for them, but waits where two start in a cycle. Short reductions keep
// their rows there, unless these lie on too many pages.
TEST(PackingProfit, SmallTilesDoNotWaitForLines) {
  const auto packed = [](int64_t rows, int vector_bits, int fma_bits = 512) {
    const std::string n = std::to_string(rows);
    const Graph graph = parse_graph("def main(float(" + n + ", 513) x, float(" + n +
                                    ", 509) y) -> (t) { t(i, j) +=! x(r, i) * y(r, j) }");
    CpuMachine machine{2, vector_bits};
    machine.fma_bits = fma_bits;
    const std::string text = print(default_schedule(graph, machine));
    return std::pair(text.find("x_packed") != text.npos, text.find("y_packed") != text.npos);
  };
  EXPECT_EQ(packed(511, 256), std::pair(true, true));
  EXPECT_EQ(packed(511, 512), std::pair(false, false));
  EXPECT_EQ(packed(511, 512, 1024), std::pair(true, true));
  EXPECT_EQ(packed(150, 256), std::pair(false, true));
  EXPECT_EQ(packed(150, 256, 256), std::pair(false, false));
  EXPECT_EQ(packed(100, 256), std::pair(false, false));
}

}  // namespace
}  // namespace adjit::sched
