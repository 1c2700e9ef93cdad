// tests/autosched/cpu/tile/window_reuse_test.cpp -- what copies along results and along a reduction
// read together.
#include <set>

#include "autosched/cpu/tile/choose_tile.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/modelled.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// With lanes of 512 bits along an axis.
Modelled modelled(const std::string& text, size_t vector_axis) {
  return {parse_graph(text), vector_axis, {.bits = 512}};
}

const MemoryAccess& image(const Modelled& m) { return m.accesses.reads[m.read_of("x")]; }

// y(i, j) from windows of `rows` x `columns` of an image that is large enough.
std::string windows(const std::string& row, int64_t rows, int64_t columns, int64_t height = 96,
                    int64_t width = 96) {
  const std::string a = std::to_string(rows), b = std::to_string(columns);
  const std::string h = std::to_string(height), w = std::to_string(width);
  return "def f(float(8000, " + std::to_string(width + columns) + ") x, float(" + a + ", " + b +
         ") w) -> (y) { y(i, j) +=! x(" + row + ", j + s) * w(r, s) where i in 0:" + h +
         ", j in 0:" + w + ", r in 0:" + a + ", s in 0:" + b + " }";
}

TEST(TileSharing, CountsWhatIsReadOnce) {
  for (const auto& [row, step, by] :
       std::vector<std::tuple<std::string, int64_t, int64_t>>{{"i + r", 1, 1},
                                                              {"2 * i + r", 2, 1},
                                                              {"i + 3 * r", 1, 3},
                                                              {"2 * i + 4 * r", 2, 4},
                                                              {"5 * i + 7 * r", 5, 7}}) {
    const Modelled m = modelled(windows(row, 6, 5), 1);
    for (const int64_t rows : {1, 2, 7})
      for (const int64_t taps : {1, 3, 6}) {
        std::set<int64_t> places;
        for (int64_t k = 0; k < rows; ++k)
          for (int64_t r = 0; r < taps; ++r) places.insert(step * k + by * r);
        EXPECT_EQ(m.model.windows().distinct(image(m), {rows, 2, taps, 5}),
                  static_cast<double>(2 * 5 * places.size()))
            << row << ", " << rows << " x " << taps;
      }
  }
}

// A window lies along the axis that moves over the same elements; not along the lanes.
TEST(TileSharing, FindsTheWindowsAxis) {
  const Modelled rows = modelled(windows("i + r", 3, 3), 1);
  const Modelled columns = modelled(windows("i + r", 3, 3), 0);
  EXPECT_EQ(window_along(rows.model.setting(), 2), 0u);
  EXPECT_EQ(window_along(rows.model.setting(), 3), std::nullopt);
  EXPECT_EQ(window_along(columns.model.setting(), 2), std::nullopt);
  EXPECT_EQ(window_along(modelled(windows("i + 96 * r", 3, 3), 1).model.setting(), 2), std::nullopt)
      << "a step is farther than all of the results";
  const Modelled product = modelled(
      "def f(float(64, 64) x, float(64, 64) w) -> (y) { y(i, j) +=! x(i, r) * "
      "w(r, j) }",
      1);
  EXPECT_EQ(window_along(product.model.setting(), 2), std::nullopt);
}

TEST(TileSharing, OperandsAreKeptOrPassThrough) {
  const Modelled m = modelled(windows("i + r", 9, 9), 1);
  const Factors tile{8, 2, 9, 1}, columns{8, 2, 1, 1};
  EXPECT_EQ(m.model.windows().shared_read(tile), &image(m));
  EXPECT_EQ(m.model.windows().shared_read(columns), nullptr);
  EXPECT_EQ(m.model.live_values(image(m), tile), 2) << "a row at a time";
  const MemoryAccess& weights = m.accesses.reads[m.read_of("w")];
  EXPECT_EQ(m.model.live_values(weights, tile), 9);
  EXPECT_TRUE(m.model.fits(tile));
  EXPECT_FALSE(m.model.fits({12, 2, 9, 1})) << "24 sums, 9 weights, 2 vectors";
  EXPECT_FALSE(m.model.fits({1, 2, 9, 1})) << "copies along a reduction that share nothing";
  EXPECT_LT(m.model.step(tile) / 9, 0.7 * m.model.step(columns)) << "32 loads instead of 144";
}

// The best tile of large windows takes their rows as a whole; that of a product nothing of its
// reduction.
TEST(TileSharing, WindowsAreTakenAsAWhole) {
  const auto best = [](const std::string& text) {
    const Modelled m = modelled(text, 1);
    return choose_reduction_tile(m.problem).factors;
  };
  const Factors stencil = best(windows("i + r", 9, 9, 512, 512));
  EXPECT_EQ(stencil[2], 9);
  EXPECT_GE(stencil[0] * stencil[1], 8);
  const Factors product =
      best("def f(float(512, 512) x, float(512, 512) w) -> (y) { y(i, j) +=! x(i, r) * w(r, j) }");
  EXPECT_EQ(product[2], 1);
}

// Where memory holds the image, a step along its lines comes too late for the next tile's.
TEST(TileSharing, WindowsInSeveralStepsWaitForMemory) {
  const Modelled large = modelled(windows("i + r", 3, 3, 2000, 4000), 1);
  const Modelled small = modelled(windows("i + r", 3, 3), 1);
  EXPECT_GT(window_waits(large.model.setting(), large.model.windows(), {8, 1, 3, 1}), 10);
  EXPECT_EQ(window_waits(large.model.setting(), large.model.windows(), {8, 1, 3, 3}), 0);
  EXPECT_EQ(window_waits(large.model.setting(), large.model.windows(), {8, 1, 1, 1}), 0)
      << "nothing is shared";
  EXPECT_EQ(window_waits(small.model.setting(), small.model.windows(), {8, 1, 3, 1}), 0);
}

}  // namespace
}  // namespace adjit::sched
