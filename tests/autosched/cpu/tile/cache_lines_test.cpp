// tests/autosched/cpu/tile/cache_lines_test.cpp -- what register tiles wait for: L2,
// memory.
#include "autosched/cpu/tile/cache_lines.hpp"

#include "autosched/cpu/tile/tile_model.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/modelled.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// Of operands that leave L1, tiles take lines from L2: one a vector of what is
// copied for the lanes, a share of one where steps stay in a line, one for each of many rows in the
// same set.
TEST(TileLines, FromTheSecondCache) {
  const auto lines = [](const std::string& steps, const std::string& w, const Factors& factors,
                        size_t axis = 1, int bits = 512) {
    const bool transposed = w == "w(j, r)";
    const LoweredGraph g(parse_graph("def f(float(64, " + steps + ") x, float(" +
                                     (transposed ? "64, " + steps : steps + ", 64") +
                                     ") w) -> (y) { y(i, j) +=! x(i, r) * " + w + " }"));
    const Stage& stage = g.stages.back();
    const Accesses accesses = accesses_of(g, stage);
    const CpuMachine machine{.vector_bits = bits};
    const TileProblem problem{g, stage, accesses, stage.domain.extents, machine, 0, true};
    return streamed_lines(TileModel(problem, axis).setting(), TileModel(problem, axis).windows(),
                          factors);
  };
  EXPECT_DOUBLE_EQ(lines("500", "w(j, r)", {12, 2, 1}), 2) << "12 rows of x stay";
  EXPECT_DOUBLE_EQ(lines("1040", "w(j, r)", {12, 2, 1}), 2 + 12.0 / 16);
  EXPECT_DOUBLE_EQ(lines("1024", "w(j, r)", {12, 2, 1}), 2 + 12) << "rows 4096 bytes apart";
  EXPECT_DOUBLE_EQ(lines("100", "w(j, r)", {12, 2, 1}), 0);
  EXPECT_DOUBLE_EQ(lines("1040", "w(r, j)", {12, 2, 1}), 0) << "nothing is copied";
  EXPECT_DOUBLE_EQ(lines("1040", "w(j, r)", {12, 2, 1}, 1, 256), 0) << "16 registers";
  EXPECT_DOUBLE_EQ(lines("5200", "w(j, r)", {4, 2, 1}, 2), 4 + 2) << "lanes along the reduction";
}

// Rows of an image in a tile are walked for every channel; channels in a tile walk one row.
TEST(TileLines, TilesOfOneOperandWaitForTheSecondCache) {
  const LoweredGraph g(parse_graph(
      "def f(float(64, 112, 112) x, float(60, 64) w) -> (y) { y(i, j, k) +=! x(r, j, k) * w(i, r) "
      "}"));
  const Stage& stage = g.stages.back();
  const Accesses accesses = accesses_of(g, stage);
  const CpuMachine machine{.vector_bits = 512};
  const TileProblem problem{g, stage, accesses, stage.domain.extents, machine, 0, false};
  const TileModel model(problem, 2);
  const Factors rows{1, 12, 2, 1}, channels{12, 1, 2, 1};
  EXPECT_EQ(l2_cycles(model.setting(), model.windows(), channels), 0);
  EXPECT_GT(l2_cycles(model.setting(), model.windows(), rows), 12)
      << "24 lines for 24 multiply-adds";
  EXPECT_GT(model.step(rows), 1.2 * model.step(channels));
}

// An operand that memory gives, walked once or by four passes of the columns.
TEST(TileLines, SeveralPassesLeaveMemoryIdle) {
  const auto waits = [](int64_t rows, int64_t columns) {
    const LoweredGraph g(
        parse_graph("def f(float(" + std::to_string(rows) +
                    ", 2048) x, float(16, 2048) w) -> (y) { y(i, j) +=! x(i, r) * w(j, "
                    "r) where i in 0:" +
                    std::to_string(rows) + ", j in 0:16, r in 0:2048 }"));
    const Stage& stage = g.stages.back();
    const Accesses accesses = accesses_of(g, stage);
    const CpuMachine machine{.vector_bits = 256};
    const TileProblem problem{g, stage, accesses, stage.domain.extents, machine, 0, false};
    return memory_waits(TileModel(problem, 2).setting(), {4, columns, 1}, 1e6);
  };
  EXPECT_GT(waits(4096, 4), 0);
  EXPECT_EQ(waits(4096, 16), 0);
  EXPECT_EQ(waits(256, 4), 0) << "it stays in L3";
}

}  // namespace
}  // namespace adjit::sched
