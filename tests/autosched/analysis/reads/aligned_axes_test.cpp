// tests/autosched/analysis/reads/aligned_axes_test.cpp -- axes that reads leave as they are.
#include "autosched/analysis/reads/aligned_axes.hpp"

#include <gtest/gtest.h>

#include <string>

#include "autosched/program/nests.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

using Numbers = std::vector<size_t>;

AlignedAxes of(const std::string& text, size_t left_out = SIZE_MAX) {
  const Program p = plain(parse_graph("def f(" + text));
  return aligned_axes(p.graph, defining_stages(p.graph), p.graph.stages.size() - 1,
                      [&](size_t s) { return s != left_out; });
}

TEST(AlignedAxes, AreThoseThatNoWindowMovesAlong) {
  const std::string windows =
      "float(6, 8, 5) x) -> (y) {\n s(i, j, k) +=! x(i, j + r, k) where i in 0:6, j in 0:6, k in "
      "0:5, r in 0:3\n";
  const AlignedAxes found =
      of(windows + " y(i, j, k) = s(i, j + 1, k) where i in 0:6, j in 0:5, k in 0:5\n}");
  EXPECT_EQ(found.axes, (Numbers{0, 2}));
  EXPECT_EQ(found.stages, (Numbers{0, 1}));
  EXPECT_EQ(
      of(windows + " y(i, j, k) = s(i, j, k) * 2.0 where i in 0:6, j in 0:6, k in 0:5\n}").axes,
      (Numbers{0, 1, 2}));
}

// Dimensions are those of the last stage, wherever they stand in between.
TEST(AlignedAxes, FollowDimensionsThroughOtherOrders) {
  const std::string turned =
      "float(6, 8) x) -> (y) {\n t(b, a) = x(a, b) + 1.0 where b in 0:8, a in 0:6\n";
  EXPECT_EQ(of(turned + " y(i, j) +=! t(j + r, i) where i in 0:6, j in 0:6, r in 0:3\n}").axes,
            Numbers{0});
  EXPECT_EQ(of(turned + " y(i, j) = t(2 * j, i) where i in 0:6, j in 0:4\n}").axes, Numbers{0});
}

TEST(AlignedAxes, AllWaysToAStageCount) {
  EXPECT_EQ(of("float(6, 6) x) -> (y) {\n t(i, j) = x(i, j) + 1.0\n u(i, j) = t(i, j) * 2.0\n"
               " y(i, j) = t(j, i) + u(i, j)\n}")
                .axes,
            Numbers{});
  // A stage without an axis has no point of its own for each of the axis' points.
  const std::string sums =
      "float(6, 8) x) -> (y) {\n s(i) +=! x(i, r)\n y(i, j) = x(i, j) / s(i)\n}";
  EXPECT_EQ(of(sums).axes, Numbers{0});
  EXPECT_EQ(of(sums, 0).axes, (Numbers{0, 1})) << "what does not take part is not asked";
  EXPECT_EQ(of(sums, 0).stages, Numbers{1});
}

}  // namespace
}  // namespace adjit::sched
