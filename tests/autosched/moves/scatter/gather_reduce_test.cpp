// tests/autosched/moves/scatter/gather_reduce_test.cpp -- sums over rows that data names, first of
// rows.
#include "autosched/analysis/reads/indexed_vectors.hpp"
#include "autosched/moves/moves.hpp"
#include "tests/autosched/indexed_rows.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

Program summed(const Graph& graph) { return gather_reduce(plain(graph), 0, graph.inputs[0]); }

TEST(SumRows, WeightsAndPlacesGoInFront) {
  Graph graph = parse_graph(
      "def f(float(9, 4) x, int64(3, 7) n, float(7, 2) w, float(3, 7, 4) v) -> (y) {\n"
      "  y(a, i) +=! v(a, i, r_c) * x(max(min(n(a, i) + r_k, 8), 0), r_c) * (w(i, r_k) * 2.0 + "
      "1.0) "
      "where a in 0:3, i in 0:7, r_c in 0:4, r_k in 0:2\n}");
  const Program p = summed(graph);
  expect_faithful(p, graph);
  ASSERT_EQ(p.graph.stages.size(), 4u);
  const Stage &weights = p.graph.stages[0], &places = p.graph.stages[1], &row = p.graph.stages[2],
              &sum = p.graph.stages[3];
  EXPECT_EQ(weights.domain.extents, (std::vector<int64_t>{2, 7})) << "the points' axis is last";
  EXPECT_EQ(places.domain.extents, (std::vector<int64_t>{3, 2, 7}));
  EXPECT_EQ(p.graph.info(places.results[0]).dtype, DType::Int32);
  EXPECT_EQ(row.domain.extents, (std::vector<int64_t>{3, 7, 4, 2}));
  EXPECT_EQ(row.domain.output_rank, 3u);
  EXPECT_EQ(sum.domain.extents, (std::vector<int64_t>{3, 7, 4})) << "without corners";
  EXPECT_EQ(stage_name(p.graph, sum), "y");
}

TEST(SumRows, OfAnImageAlongAFlow) {
  for (const char* type : {"float", "double"})
    for (int64_t channels : {1, 3, 8}) {
      const Graph graph = flow_samples(channels, 5, type);
      // Both branches of a select read x at one place: one read, with a sign.
      expect_faithful(summed(graph), graph);
    }
}

TEST(SumRows, SeveralSumsOfOneOperandShareItsRows) {
  const Graph graph = parse_graph(
      "def f(float(9, 4) x, int64(7) n, float(7, 2) w, float(7, 2) u) -> (y, z) {\n"
      "  y(i) +=! x(max(min(n(i) + r_k, 8), 0), r_c) * w(i, r_k) where i in 0:7, r_c in 0:4, r_k "
      "in "
      "0:2\n"
      "  z(i) +=! 3.0 * x(max(min(n(i) + r_k, 8), 0), r_c) / u(i, r_k) where i in 0:7, r_c in 0:4, "
      "r_k in 0:2\n}");
  const size_t both[] = {0, 1};
  Program p = fuse_siblings(plain(graph), both);
  p = gather_reduce(std::move(p), 0, graph.inputs[0]);
  EXPECT_EQ(p.graph.stages[stage_of(p, "y_row")].results.size(), 2u) << print(p);
  const Array two = [] {
    Array a = Array::zeros(DType::Float32, {7, 2});
    for (int64_t k = 0; k < 14; ++k) a.set(k, 1.0 + static_cast<double>(k % 3));
    return a;
  }();
  std::vector<Array> inputs = some_inputs(graph);
  inputs[3] = two;
  expect_close(interpret(graph, inputs), interpret(p, inputs));
}

TEST(SumRows, FromTheLastElementOn) {
  const Graph graph = parse_graph(
      "def f(float(9, 4) x, int64(7) n, float(7, 4) v) -> (y) {\n"
      "  y(i) +=! v(i, r_c) * x(max(min(n(i) + r_k, 8), 0), 3 - r_c) where i in 0:7, r_c in 0:4, "
      "r_k "
      "in 0:2\n}");
  expect_faithful(summed(graph), graph);
}

TEST(SumRows, RowsOfWhichTheFirstElementsAreRead) {
  const Graph graph = parse_graph(
      "def f(float(9, 7) x, int64(5) n, float(5, 2, 2) v) -> (y) {\n"
      "  y(i, j) +=! v(i, j, r_c) * x(max(min(n(i) + r_k, 8), 0), j + r_c * 2) where i in 0:5, j "
      "in "
      "0:2, r_c in 0:2, r_k in 0:3\n}");
  const Program p = summed(graph);
  EXPECT_EQ(p.graph.stages[stage_of(p, "y_row")].domain.extents, (std::vector<int64_t>{5, 4, 3}));
  expect_faithful(p, graph);
}

TEST(SumRows, IsRefused) {
  const auto refused = [](const std::string& body, const char* reason,
                          const std::string& reducer = "+=!") {
    const Graph graph = parse_graph(
        "def f(float(9, 4) x, int64(7) n, float(7, 2, 4) w, float(7) u) -> (y) {\n  y(i) " +
        reducer + " " + body + " where i in 0:7, r_c in 0:4, r_k in 0:2\n}");
    expect_refused([&] { summed(graph); }, reason);
  };
  const std::string x = "x(max(min(n(i) + r_k, 8), 0), r_c)";
  refused(x + " * w(i, r_k, r_c)", "differs along it");
  refused("x(max(min(n(i) + r_k + r_c, 8), 0), r_c)", "named by other axes");
  refused("x(max(min(n(i), 8), 0), r_c) * w(i, r_k, 0)", "named by other axes");
  refused("x(max(min(n(i) + r_k, 8), 0), 0) * w(i, 0, r_c)", "named by other axes");
  refused("x(max(min(n(i) + r_k, 8), 0), 2) * w(i, 0, r_c)", "from their beginning");
  refused("x(max(min(n(i) + r_k, 8), 0), n(i) % 4)", "from their beginning");
  refused("(" + x + " + 1.0)", "no factor");
  refused(x + " * " + x, "differs along it");
  refused(x + " * x(0, r_c)", "read twice");
  refused("u(i) / " + x, "no factor");
  refused("(n(i) < 3 ? " + x + " : 0.0)", "no factor");
  refused("w(i, r_k, r_c)", "does not read");
  refused(x, "only sums", "max=!");
  const Graph none = parse_graph(
      "def f(float(9, 4) x, int64(7) n) -> (y) { y(i) +=! x(max(min(n(i) + r_k, 8), 0), r_c) where "
      "i in 0:7, r_c in 0:0, r_k in 0:2 }");
  expect_refused([&] { summed(none); }, "no points");
  const Graph alone = parse_graph(
      "def f(float(9, 4) x, int64(7) n, float(7, 2) w) -> (y) { y(i) +=! x(max(min(n(r_i) + r_k, "
      "8), "
      "0), r_c) where i in 0:7, r_i in 0:7, r_c in 0:4, r_k in 0:2 }");
  expect_refused([&] { summed(alone); }, "no axis of its results");
  Builder b;
  const TensorId data = b.input("x", {9, 4});
  const ExprId inside = b.graph.pool.make(Op::Lt, {b.axis(0), b.integer(5)});
  b.output(b.stage("y", {7, 4, 2}, 1, CombinerKind::Sum,
                   b.at(data, {b.graph.pool.add(b.axis(0), b.axis(2)), b.axis(1)}, inside)));
  expect_refused([&] { gather_reduce(plain(b.graph), 0, data); }, "under a condition");
  const Graph graph = flow_samples(5, 6);
  expect_refused([&] { gather_reduce(plain(graph), 0, TensorId{999}); }, "no such operand");
  expect_refused([&] { gather_reduce(plain(graph), 7, graph.inputs[0]); }, "no stage 7");
}

}  // namespace
}  // namespace adjit::sched
