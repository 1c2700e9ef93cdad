// Gaps behind the rows of the workspace.
#include "autosched/analysis/access.hpp"
#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(PadRows, MovesRowsApart) {
  const Graph graph = parse_graph(
      "def main(float(3, 4, 8) x) -> (y) {\n"
      "  t(i, j, k) = exp(x(i, j, k))\n  y(i, k) +=! t(i, r, k)\n}");
  const Program p = pad_leading_dimension(plain(graph), 0, 2);
  const TensorId t = p.graph.stages[0].results[0];
  EXPECT_EQ(strides_of(p.graph, t), (std::vector<int64_t>{40, 10, 1}));
  EXPECT_EQ(elements_with_gaps(p.graph, t), 3 * 4 * 10);
  EXPECT_EQ(accesses_of(p.graph, p.graph.stages[1]).reads[0].strides,
            (std::vector<int64_t>{40, 1, 10}));
  expect_faithful(p, graph);
}

TEST(PadRows, IsRefused) {
  const Graph graph = parse_graph(
      "def main(float(3, 8) x) -> (y, s) {\n"
      "  t(i, k) = exp(x(i, k))\n  y(i, k) = t(i, k) * 2.0\n  u() +=! t(r, q)\n"
      "  s() = u() * 2.0\n}");
  expect_refused([&] { pad_leading_dimension(plain(graph), 1, 2); }, "the caller has its results");
  expect_refused([&] { pad_leading_dimension(plain(graph), 2, 2); }, "scalars");
  expect_refused([&] { pad_leading_dimension(plain(graph), 0, 0); }, "1 to 4096");
  expect_refused([&] { pad_leading_dimension(plain(graph), 0, 5000); }, "1 to 4096");
}

}  // namespace
}  // namespace adjit::sched
