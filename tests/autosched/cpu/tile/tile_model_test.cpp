// tests/autosched/cpu/tile/tile_model_test.cpp -- what register tiles cost: rows that data names,
// borders.
#include "autosched/cpu/tile/tile_model.hpp"

#include "autosched/cpu/tile/choose_tile.hpp"
#include "autosched/cpu/tile/stores.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/modelled.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// Cycles of one step with so many copies.
double step(const Graph& graph, size_t vector_axis, const Factors& factors) {
  return Modelled(graph, vector_axis).model.step(factors);
}

// y(i) from eight channels at places that I names.
Graph sampled(const std::string& index) {
  return parse_graph("def f(float(50, 8) x, float(8, 640) w, int64(640) I) -> (y) { y(i) +=! x(" +
                     index + ") * w(r, i) where i in 0:640, r in 0:8 }");
}

TEST(TileModel, PiecesOfRowsCostLessThanTheirElements) {
  const Graph rows = sampled("I(i) % 50, r"), elements = sampled("I(i) % 50, 3 * r % 8");
  const double one = step(rows, 0, {1, 1}), four = step(rows, 0, {1, 4});
  EXPECT_LT(four, 0.5 * 4 * one);
  EXPECT_GT(step(rows, 0, {1, 2}), 0.9 * 2 * one) << "half a piece is gathered";
  EXPECT_EQ(Modelled(rows, 0).model.choices(1), (Factors{1, 4}));
  EXPECT_GT(step(elements, 0, {1, 4}), 1.5 * four) << "no axis walks the row";
}

// Three taps along the lanes, with zeros around an image of so many columns; more arithmetic than
// loads.
Graph taps(int64_t columns, const std::string& how = "+") {
  const std::string n = std::to_string(columns), x = "x(i, j + r - 1)";
  return parse_graph("def f(float(40, " + n + ") x, float(3) w) -> (y) { y(i, j) " + how + "=! (" +
                     x + " + 1.0) * (" + x + " + 2.0) * w(r) where i in 0:40, j in 0:" + n +
                     ", r in 0:3, j + r >= 1, j + r <= " + n + " }");
}

TEST(TileModel, MasksCountAtBorders) {
  const Factors all{12, 1, 1};
  const double wide = step(taps(800), 1, all), narrow = step(taps(16), 1, all);
  EXPECT_LT(wide, narrow) << "one vector of a hundred is at the border, or both";
  EXPECT_LT(narrow, step(taps(8), 1, all)) << "only the middle tap is inside";
  EXPECT_DOUBLE_EQ(step(taps(800, "max"), 1, all), step(taps(8, "max"), 1, all))
      << "other combiners gain less by a version without masks";
}

// Sums that go on from pass to pass are loaded and stored in each: lanes along which they are
// contiguous are worth more.
TEST(TileModel, PassesStoreTheirResults) {
  const Graph graph = parse_graph(
      "def f(float(64, 600) a, float(64, 32) b) -> (y) {"
      " y(j, d) +=! a(r, j) * b(r, d) where j in 0:600, d in 0:32, r in 0:64 }");
  const Factors across{2, 6, 1}, along{6, 2, 1};
  const auto cycles = [&](size_t axis, const Factors& factors, double passes) {
    return Modelled(graph, axis, {.passes = passes}).model.cycles(factors);
  };
  EXPECT_GT(cycles(1, along, 10), 10 * cycles(1, along, 1)) << "nothing is loaded in one pass";
  EXPECT_GT(cycles(0, across, 10) - cycles(1, along, 10),
            10 * (cycles(0, across, 1) - cycles(1, along, 1)));
  EXPECT_LT(cycles(1, along, 10), cycles(0, across, 10));
  EXPECT_LT(storing(Modelled(graph, 1, {.passes = 10}).model.setting(), along),
            storing(Modelled(graph, 0, {.passes = 10}).model.setting(), across) / 2);
}

TEST(TileModel, TasksWalkNoAxisOfATile) {
  const Graph graph = matmul_graph(96, 64, 32);
  const Modelled free(graph, 1), settled(graph, 1, {.task_axes = {0}});
  EXPECT_GT(free.model.choices(0).size(), 3u);
  EXPECT_EQ(settled.model.choices(0), Factors{1});
  EXPECT_EQ(choose_reduction_tile(settled.problem).factors[0], 1);
  EXPECT_GT(choose_reduction_tile(free.problem).factors[0], 1);
  EXPECT_NE(choose_reduction_tile(Modelled(graph, 0, {.task_axes = {1}}).problem).vector_axis, 1u);
}

// Cycles of a nest with so many copies, with its share of the code; called so often.
double total(const Graph& graph, const Factors& factors, double calls = 1) {
  return Modelled(graph, 1, {.calls = calls}).model.total(factors);
}

TEST(TileModel, CodeHasToBeEarned) {
  const Graph small = matmul_graph(8, 16, 1), large = matmul_graph(800, 1600, 400);
  EXPECT_LT(total(small, {1, 1, 1}), total(small, {4, 2, 1}));
  EXPECT_LT(total(large, {4, 2, 1}), total(large, {1, 1, 1}));
  EXPECT_LT(total(small, {4, 2, 1}, 1000), total(small, {1, 1, 1}, 1000)) << "in a scan's steps";
  const Modelled tiled(small, 1);
  EXPECT_EQ(tiled.model.code({4, 2, 1}), 8 * tiled.model.code({1, 1, 1}));
  EXPECT_EQ(tiled.model.code({3, 2, 1}), 2 * 6 * tiled.model.code({1, 1, 1}))
      << "a shorter tile at the end";
}

// Of two axes to take copies of, the one along which a scalar operand stays in its line.
TEST(TileModel, CopiesThatShareLinesAreCheaper) {
  const auto strided = [](const std::string& index) {
    return parse_graph("def f(float(200, 200) x, float(40, 8) w) -> (y) { y(i, j, k) +=! x(" +
                       index + ") * w(r, k) where i in 0:64, j in 0:64, k in 0:8, r in 0:40 }");
  };
  const Graph rows = strided("2 * i + r, 2 * j"), columns = strided("2 * j + r, 2 * i");
  EXPECT_LT(step(rows, 2, {1, 6, 1, 1}), step(rows, 2, {6, 1, 1, 1}));
  EXPECT_LT(step(columns, 2, {6, 1, 1, 1}), step(columns, 2, {1, 6, 1, 1}));
}

// Fourteen accumulators, the operand that they share and the one that is loaded fill sixteen
// registers: there is no room to load ahead, nor for a mask.
TEST(TileModel, RegistersAreLeftForOperands) {
  const LoweredGraph g(
      parse_graph("def f(float(64, 64) x, float(64, 64) w) -> (y) { y(i, j) +=! x(i, r) * w(r, j) "
                  "where i in 0:64, j in 0:64, r in 0:64 }"));
  const Stage& stage = g.stages.back();
  const Accesses accesses = accesses_of(g, stage);
  const auto fits = [&](int bits, const Factors& factors) {
    const CpuMachine machine{.vector_bits = bits};
    const TileProblem problem{g, stage, accesses, stage.domain.extents, machine, 0, false};
    return TileModel(problem, 1).fits(factors);
  };
  EXPECT_FALSE(fits(256, {14, 1, 1}));
  EXPECT_TRUE(fits(256, {12, 1, 1}));
  EXPECT_TRUE(fits(256, {6, 2, 1}));
  EXPECT_TRUE(fits(512, {14, 2, 1}));
}

}  // namespace
}  // namespace adjit::sched
