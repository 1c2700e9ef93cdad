// tests/autosched/moves/scatter/scatter_accumulate_test.cpp -- scatters into rows that data names,
// a row at a time.
#include "autosched/analysis/reads/indexed_vectors.hpp"
#include "autosched/moves/moves.hpp"
#include "tests/autosched/indexed_rows.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(WeighRows, ValuesWeightsAndPlacesGoInFront) {
  const Graph graph = flow_gradient(3, 4, 5);
  const Program before = plain(graph);
  const Program p = scatter_accumulate(before, scatter_in(before));
  expect_faithful(p, graph);
  const Stage& scatter = p.graph.stages[scatter_in(p)];
  EXPECT_EQ(scatter.domain.extents, (std::vector<int64_t>{2, 5, 5, 2, 2, 12}))
      << "points, corners, a row";
  EXPECT_TRUE(p.graph.pool.is(scatter.target.back(), Op::Axis));
  EXPECT_EQ(p.graph.info(p.graph.stages[stage_of(p, "h_values")].results[0]).shape,
            (std::vector<int64_t>{2, 5, 5, 3, 4}));
  EXPECT_EQ(p.graph.stages.size(), before.graph.stages.size() + 4);
}

TEST(WeighRows, OfRowsThatAreLongerThanWhatIsWritten) {
  const Graph graph = flow_gradient(3, 4, 5, false);
  Program p = plain(graph);
  p = scatter_layout(p, scatter_in(p), 1, 16);
  p = scatter_accumulate(p, scatter_in(p));
  expect_faithful(p, graph);
  EXPECT_EQ(p.graph.stages[scatter_in(p)].domain.extents.back(), 16);
  // 14 elements are no whole number of groups of 4.
  p = plain(graph);
  p = scatter_layout(p, scatter_in(p), 1, 14);
  p = scatter_accumulate(p, scatter_in(p));
  expect_faithful(p, graph);
  EXPECT_EQ(p.graph.stages[scatter_in(p)].domain.extents.back(), 12);
}

// The rest of a row belongs to somebody.
TEST(WeighRows, OfRowsThatAreWrittenInPart) {
  for (const char* start : {"", " from h0"}) {
    const Graph graph = parse_graph(
        std::string("def f(float(7, 4) d, int64(7, 3) n, float(3) w, float(5, 8) h0) -> (y) {\n"
                    "  scatter float(5, 8) h(n(i, k), c) +=[drop] d(i, c) * w(k)") +
        start + " where i in 0:7, c in 0:4, k in 0:3\n  y(a, b) = h(a, b) * 2.0\n}");
    const Program p = plain(graph);
    const Program weighed = scatter_accumulate(p, scatter_in(p));
    EXPECT_EQ(weighed.graph.stages[scatter_in(weighed)].domain.extents.back(), 4);
    expect_faithful(weighed, graph);
  }
}

TEST(WeighRows, OfOneAxisAndOfPlacesOutOfRange) {
  const Graph graph = parse_graph(
      "def f(float(7, 4) d, int64(7, 3) n, float(3) w) -> (h) {\n"
      "  scatter float(5, 4) h(n(i, k) - 1, c) +=[drop] d(i, c) * w(k) where i in 0:7, c in 0:4, k "
      "in "
      "0:3\n}");
  const Program p = plain(graph);
  expect_faithful(scatter_accumulate(p, scatter_in(p)), graph);
}

TEST(WeighRows, IsRefused) {
  const auto refused = [](const std::string& scatter, const char* reason) {
    const Graph graph =
        parse_graph("def f(float(7, 4) d, int64(7, 2) n, int64(7, 4) m) -> (h) {\n  scatter " +
                    scatter + " where i in 0:7, c in 0:4, k in 0:2\n}");
    const Program p = plain(graph);
    expect_refused([&] { scatter_accumulate(p, scatter_in(p)); }, reason);
  };
  refused("float(5, 4) h(n(i, k), c) max=[drop] d(i, c)", "only scatters of sums");
  refused("float(5, 4) h(n(i, k), 3 - c) +=[drop] d(i, c)", "from their beginning");
  refused("float(5, 8) h(n(i, k), 2 * c) +=[drop] d(i, c)", "from their beginning");
  refused("float(5, 4) h(n(i, k), 0) +=[drop] d(i, c)", "from their beginning");
  refused("float(9, 4) h(n(i, k) + c, c) +=[drop] d(i, c)", "by their own axes");
  refused("float(5, 4) h(n(i, k), c) +=[drop] d(i, 0) * float(k)", "no values");
  refused("float(5, 4) h(n(i, k), c) +=[drop] d(i, c) * float(k + c)", "no values");
  refused("int64(5, 4) h(n(i, k), c) +=[drop] m(i, c)", "no floats");
  const Program none = plain(parse_graph(
      "def f(float(7, 4) d, int64(7, 2) n) -> (h) {\n  scatter float(5, 4) h(n(i, k), c) +=[drop] "
      "d(i, c) where i in 0:7, c in 0:0, k in 0:2\n}"));
  expect_refused([&] { scatter_accumulate(none, scatter_in(none)); }, "no points");
  expect_refused([] { scatter_accumulate(plain(matmul_graph(2, 2, 2)), 0); }, "only scatters");
}

}  // namespace
}  // namespace adjit::sched
