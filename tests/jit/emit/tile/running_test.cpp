// tests/jit/emit/tile/running_test.cpp -- threads that run on along an axis together.
#include "jit/emit/tile/running.hpp"

#include <gtest/gtest.h>

#include "tests/jit/emit/block_programs.hpp"

namespace adjit::testing {
namespace {

const std::vector<std::string> kRows{"r <= j", "r < j", "r >= j", "r > j"};

Graph prefix(int64_t rows, int64_t length, const std::string& row, const std::string& by = "+",
             const std::string& type = "float", const std::string& term = "x(i, r)") {
  const std::string n = std::to_string(length), m = std::to_string(rows);
  return parse_graph("def f(" + type + "(" + m + ", " + n + ") x) -> (y) { y(i, j) " + by + "=! " +
                     term + " where i in 0:" + m + ", j in 0:" + n + ", r in 0:" + n + ", " + row +
                     " }");
}

// A block a row: so many threads, each of so many neighbours.
Program in_threads(const Graph& graph, int64_t count, int64_t lanes) {
  Program p = initial_program(graph, GpuMachine{});
  if (lanes > 1) p = vectorize(std::move(p), 0, 1, lanes);
  p = threads(std::move(p), 0, 1, count);
  return parallel(std::move(p), 0, 1);
}

TEST(RunningTile, ABlockRunsOnAlongARow) {
  for (const std::string& row : kRows)
    for (const auto& [length, count, lanes] : {std::tuple{64, 16, 4},
                                               {300, 64, 4},
                                               {300, 8, 4},
                                               {97, 32, 1},
                                               {97, 4, 4},
                                               {96, 8, 2},
                                               {130, 128, 1},
                                               {40, 2, 4},
                                               {512, 128, 4}}) {
      SCOPED_TRACE(row + " " + std::to_string(length) + " in " + std::to_string(count));
      expect_right_in_blocks(in_threads(prefix(3, length, row), count, lanes));
    }
}

TEST(RunningTile, OfAllCombinersAndTypes) {
  for (const char* by : {"+", "*", "max", "min"})
    for (const char* type : {"float", "double", "int32", "half"}) {
      SCOPED_TRACE(std::string(by) + type);
      const std::string term = std::string(by) == "*" ? "max(x(i, r), x(i, r))" : "x(i, r)";
      expect_right_in_blocks(in_threads(prefix(2, 90, "r <= j", by, type, term), 64, 1),
                             std::string(type) == "half" ? 1e-2 : 1e-4);
    }
  for (const char* by : {"any", "all"})
    expect_right_in_blocks(in_threads(prefix(2, 90, "r < j", by, "float", "x(i, r) > 0.5"), 64, 1));
}

TEST(RunningTile, TilesOfCopiesAndLanes) {
  for (const std::string& row : kRows)
    for (const int64_t length : {96, 101}) {
      Program p = initial_program(prefix(2, length, row), GpuMachine{});
      p = vectorize(std::move(p), 0, 1, 2);
      p = unroll(std::move(p), 0, 1, 3);
      p = threads(std::move(p), 0, 1, 4);
      expect_right_in_blocks(parallel(std::move(p), 0, 1));
    }
}

// Each warp, or a part of one, has a row; the last block has fewer rows.
TEST(RunningTile, ABlockTakesSeveralRows) {
  for (const int64_t count : {8, 32})
    for (const std::string& row : kRows) {
      Program p = initial_program(prefix(7, 75, row), GpuMachine{});
      p = threads(std::move(p), 0, 1, count);
      p = threads(std::move(p), 0, 0, 4);
      p = parallel(std::move(p), 0, 1);
      expect_right_in_blocks(p);
      EXPECT_EQ(waits(p), 0u) << "warps do not wait for each other";
    }
}

// A thread runs on along a row by itself, in tiles; the block's threads are rows.
TEST(RunningTile, ThreadsOfRowsRunOnByThemselves) {
  for (const std::string& row : kRows)
    for (const int64_t length : {64, 75}) {
      SCOPED_TRACE(row + " " + std::to_string(length));
      Program p = initial_program(prefix(7, length, row), GpuMachine{});
      p = vectorize(std::move(p), 0, 1, 4);
      p = threads(std::move(p), 0, 0, 4);
      p = parallel(std::move(p), 0, 1);
      expect_right_in_blocks(p);
      EXPECT_EQ(waits(p), 0u);
    }
}

TEST(RunningTile, AThreadLoadsVectors) {
  Program p = initial_program(prefix(9, 64, "r <= j"), GpuMachine{});
  p = parallel(vectorize(std::move(p), 0, 1, 4), 0, 1);
  expect_right_in_blocks(p);
  const std::string ptx = EmulatedProgram(p).ptx();
  EXPECT_EQ(occurrences(ptx, "ld.global.nc.v4.f32"), 1u) << ptx;
  EXPECT_EQ(occurrences(ptx, "st.global.v4.f32"), 1u) << ptx;
}

TEST(RunningTile, BackwardsLanesGoUpInMemory) {
  const Program p = in_threads(prefix(3, 512, "r >= j"), 64, 4);
  const std::string ptx = EmulatedProgram(p).ptx();
  EXPECT_EQ(occurrences(ptx, "ld.global.nc.v4.f32"), 1u) << ptx;
  EXPECT_EQ(occurrences(ptx, "st.global.v4.f32"), 1u) << ptx;
}

// What several warps exchange in an iteration, they have read before the next one writes it.
TEST(RunningTile, MissingBarriersAreRaces) {
  if (!kEmulates) return;
  const Program p = in_threads(prefix(2, 600, "r <= j"), 128, 1);
  const std::vector<Array> inputs = small_inputs(p.graph, 3);
  for (const size_t number : {size_t{0}, size_t{1}}) {
    EmulatedProgram emulated(p);
    ASSERT_TRUE(emulated.leave_out_barrier(number));
    bool found = false;
    for (uint64_t seed = 1; seed <= 5 && !found; ++seed) try {
        emulated(inputs, seed);
      } catch (const std::runtime_error&) {
        found = true;
      }
    EXPECT_TRUE(found) << "without barrier " << number;
  }
}

}  // namespace
}  // namespace adjit::testing
