// tests/autosched/moves/materialize_common_test.cpp -- values computed once for several stages.
#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

using Readers = std::vector<Hoisted>;

const char* const kSums =
    "def main(float(6, 7) d, float(7, 2) a, float(6, 2) b) -> (u, v, w) {\n"
    "  u(i, k) +=! exp(-d(i, r)) * a(r, k)\n"
    "  v(i, k) +=! exp(-d(r, i)) * exp(b(r, k)) where i in 0:7, k in 0:2, r in 0:6\n"
    "  w(i) +=! sin(u(i, 0) * d(i, r))\n}";

TEST(Hoist, EqualValuesBecomeOneResult) {
  const Graph graph = parse_graph(kSums);
  const Program p = materialize_common(plain(graph), Readers{{0, {0, 2}}, {1, {2, 0}}});
  ASSERT_EQ(p.graph.stages.size(), 4u);
  const Stage& pairs = p.graph.stages[0];
  EXPECT_EQ(pairs.results.size(), 1u);
  EXPECT_EQ(pairs.domain.extents, (std::vector<int64_t>{6, 7}));
  for (ExprId id : reachable(p.graph.pool, p.graph.stages[1].bodies))
    EXPECT_FALSE(p.graph.pool.is(id, Op::Exp));
  expect_faithful(p, graph);
  // The other way round.
  const Program across = materialize_common(plain(graph), Readers{{0, {2, 0}}, {1, {0, 2}}});
  EXPECT_EQ(across.graph.stages[0].domain.extents, (std::vector<int64_t>{7, 6}));
  expect_faithful(across, graph);
}

TEST(Hoist, OverAllAxesOrSome) {
  const Graph graph = parse_graph(
      "def main(float(5, 4) x, float(6, 4) y, float(6) b) -> (u) {\n"
      "  u(i, k) +=! exp(x(i, k)) * cos(b(r)) * tanh(x(i, 0) * b(r)) * y(r, k)\n"
      "    where i in 0:5, k in 0:4, r in 0:6\n}");
  const Program p = materialize_common(plain(graph), Readers{{0, {0, 2}}});
  EXPECT_EQ(p.graph.stages[0].results.size(), 1u) << "what depends on one axis stays";
  expect_faithful(p, graph);
  expect_faithful(materialize_common(plain(graph), Readers{{0, {2, 0, 1}}}), graph);
  expect_faithful(materialize_common(plain(graph), Readers{{0, {2}}}), graph);
}

TEST(Hoist, IsRefused) {
  const Graph graph = parse_graph(kSums);
  expect_refused([&] { materialize_common(plain(graph), Readers{{0, {0, 2}}, {1, {0, 2}}}); },
                 "same extents");
  expect_refused([&] { materialize_common(plain(graph), Readers{{0, {0, 0}}}); }, "distinct axes");
  expect_refused([&] { materialize_common(plain(graph), Readers{{0, {0, 3}}}); }, "distinct axes");
  expect_refused([&] { materialize_common(plain(graph), Readers{{0, {0, 2}}, {2, {0, 1}}}); },
                 "not there yet");
  expect_refused([&] { materialize_common(plain(graph), Readers{}); }, "needs a stage");
  expect_refused([&] { materialize_common(plain(graph), Readers{{0, {0, 2}}, {0, {0, 2}}}); },
                 "there twice");
  const Graph read = parse_graph("def main(float(6, 7) x) -> (u) { u(i) +=! x(i, r) }");
  expect_refused([&] { materialize_common(plain(read), Readers{{0, {0, 1}}}); },
                 "nothing in the stages");
  const Graph rows = parse_graph(
      "def main(float(6, 7) x) -> (u) { u(i) +=! exp(x(i, r)) where i in 0:6, r in 0:7, r <= i }");
  expect_refused([&] { materialize_common(plain(rows), Readers{{0, {0, 1}}}); }, "over a box");
}

}  // namespace
}  // namespace adjit::sched
