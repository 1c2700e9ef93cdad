// tests/autosched/program/segment_loop_test.cpp -- loops that go over a segment alone.
#include "autosched/program/segment_loop.hpp"

#include <gtest/gtest.h>

#include <array>

#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/scattered_tables.hpp"

namespace adjit::sched {
namespace {

// Loops i (rows), j (columns), q (places).
Program rows_of_a_table() { return inverted(table(29, 6), 8); }

std::optional<size_t> loop_in(const Program& program) {
  const size_t stage = program.graph.stages.size() - 1;
  const auto segments = segments_of(program.graph.pool, program.graph.stages[stage]);
  return segment_loop(program.graph, nest_of(program, stage), *segments);
}

TEST(SegmentLoop, IsTheSerialOneInsideTheRows) {
  const Program program = rows_of_a_table();
  const size_t stage = program.graph.stages.size() - 1;
  EXPECT_EQ(loop_in(program), 2u);
  EXPECT_EQ(loop_in(parallel(program, stage, 2)), 2u);
  EXPECT_EQ(loop_in(vectorize(program, stage, 1, 2)), 2u) << "columns of one row";
}

TEST(SegmentLoop, ThereIsNoneWhereLanesOrLoopsInsideHaveSegmentsOfTheirOwn) {
  const Program program = rows_of_a_table();
  const size_t stage = program.graph.stages.size() - 1;
  EXPECT_EQ(loop_in(vectorize(program, stage, 0, 2)), std::nullopt) << "lanes are rows";
  EXPECT_EQ(loop_in(unroll(program, stage, 0, 2)), std::nullopt);
  EXPECT_EQ(loop_in(reorder(program, stage, std::vector<size_t>{2, 0, 1})), std::nullopt);
  EXPECT_EQ(loop_in(tile(program, stage, 2, std::array<int64_t, 1>{5})), std::nullopt)
      << "two loops over places";
  EXPECT_EQ(loop_in(unroll(program, stage, 2, 3)), std::nullopt);
}

}  // namespace
}  // namespace adjit::sched
