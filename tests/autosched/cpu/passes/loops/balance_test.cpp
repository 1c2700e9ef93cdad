// tests/autosched/cpu/passes/loops/balance_test.cpp -- rows of a contraction shared out among
// cores.
#include "autosched/cpu/passes/loops/balance.hpp"

#include "autosched/lower/initial_program.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

std::optional<EvenParts> parts_of(int64_t rows, int cores, int64_t tile_rows) {
  const Program program = initial_program(matmul_graph(rows, 512, 128), CpuMachine{cores, 512});
  const TileChoice tile{
      .vector_axis = 1, .lanes = 16, .factors = {tile_rows, 2, 1}, .cycles = 1, .packed = {}};
  return even_parts(program, 0, tile, CpuMachine{cores, 512});
}

TEST(EvenParts, AllCoresTakeTheSameRows) {
  const std::optional<EvenParts> parts = parts_of(32, 2, 12);
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->points, 16);
  EXPECT_EQ(16 % parts->tile.factors[0], 0);
  EXPECT_EQ(parts->tile.factors[1], 2) << "the lanes' panels stay as they are";
  const std::optional<EvenParts> three = parts_of(32, 3, 14);
  ASSERT_TRUE(three);
  EXPECT_EQ(three->points, 11);
}

TEST(EvenParts, AreLeftWhereTheyAreEven) {
  EXPECT_FALSE(parts_of(24, 2, 12));
  EXPECT_FALSE(parts_of(12 * 40, 2, 12));
  EXPECT_FALSE(parts_of(32, 1, 12)) << "one core";
  EXPECT_FALSE(parts_of(1, 2, 1));
}

// The tasks' points of the kernels of a scan's steps that run over so many rows.
std::vector<int64_t> points_of_steps(const Graph& graph, int64_t rows) {
  const Program program = default_schedule(graph, CpuMachine{2, 512});
  const auto scan = std::ranges::find_if(
      program.kernels, [](const Kernel& kernel) { return kernel.steps != nullptr; });
  std::vector<int64_t> points;
  if (scan == program.kernels.end()) return points;
  for (const Kernel& kernel : scan->steps->kernels)
    if (const Nest& nest = kernel.root;
        parallel_depth(nest) == 1 && nest.loops[0].axis == 0 && nest.spans[0] == rows)
      points.push_back(nest.loops[0].step);
  return points;
}

// The steps of a scan: every task goes through all of them, and other kernels' tiles divide it.
TEST(EvenParts, OfAScan) {
  const std::vector<int64_t> one = points_of_steps(
      parse_graph(
          "def f(float(32, 128) h0, float(40, 32, 128) x, float(128, 128) w) -> (h, ys) {\n"
          "  scan (h, ys) = step[40](carry float(32, 128) c = h0, over float(32, 128) s = x, "
          "fixed float(128, 128) u = w) -> (n, y) {\n"
          "    p(i, j) +=! c(i, k) * u(k, j)\n"
          "    n(i, j) = tanh(p(i, j) + s(i, j))\n"
          "    y(i) +=! n(i, j) * c(i, j)\n"
          "  }\n"
          "}"),
      32);
  EXPECT_GE(one.size(), 2u);
  for (int64_t points : one) EXPECT_EQ(points, 16);
}

TEST(EvenParts, OfTwoProductsInAStep) {
  const std::vector<int64_t> two =
      points_of_steps(parse_graph("def f(float(32, 128) h0, float(32, 128) g0, float(128, 128) w, "
                                  "float(128, 128) v) -> (h, g) {\n"
                                  "  scan (h, g) = step[40](carry float(32, 128) c = h0, "
                                  "carry float(32, 128) d = g0, fixed float(128, 128) u = w, "
                                  "fixed float(128, 128) t = v) -> (n, m) {\n"
                                  "    p(i, j) +=! c(i, k) * u(k, j)\n"
                                  "    n(i, j) = tanh(p(i, j))\n"
                                  "    q(i, j) +=! d(i, k) * t(k, j)\n"
                                  "    m(i, j) = tanh(q(i, j) + n(i, j))\n"
                                  "  }\n"
                                  "}"),
                      32);
  EXPECT_GE(two.size(), 3u);
  for (int64_t points : two) EXPECT_EQ(points, 16);
}

}  // namespace
}  // namespace adjit::sched
