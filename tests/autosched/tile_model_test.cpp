// tests/autosched/tile_model_test.cpp -- what register tiles cost: rows that data names, borders.
#include "autosched/tile_model.hpp"

#include "autosched/access.hpp"
#include "runtime/graph/text.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit {
namespace {

using Factors = std::vector<int64_t>;

// Cycles of one step of the last stage with so many copies, lanes of 8 along an axis.
double step(const Graph& graph, size_t vector_axis, const Factors& factors) {
  const Stage& stage = graph.stages.back();
  const Accesses accesses = accesses_of(graph, stage);
  const TileProblem problem{graph, stage, accesses, stage.domain.extents, 256, 0, false};
  return TileModel(problem, vector_axis).step(factors);
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
  const std::vector<int64_t> copies = [&] {
    const Stage& stage = rows.stages.back();
    const Accesses accesses = accesses_of(rows, stage);
    const TileProblem problem{rows, stage, accesses, stage.domain.extents, 256, 0, false};
    return TileModel(problem, 0).choices(1);
  }();
  EXPECT_EQ(copies, (Factors{1, 4}));
  EXPECT_GT(step(elements, 0, {1, 4}), 1.5 * four) << "no axis walks the row";
}

// Three taps along the lanes, with zeros around an image of so many columns.
Graph taps(int64_t columns, const std::string& how = "+") {
  const std::string n = std::to_string(columns);
  return parse_graph("def f(float(40, " + n + ") x, float(3) w) -> (y) { y(i, j) " + how +
                     "=! x(i, j + r - 1) * w(r) where i in 0:40, j in 0:" + n +
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

}  // namespace
}  // namespace adjit
