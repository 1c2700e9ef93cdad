// tests/autosched/moves/make_adjacent_test.cpp -- kernels put next to each other.
#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

using Stages = std::vector<size_t>;

TEST(Gather, NextToEachOther) {
  const Graph graph = parse_graph(
      "def main(float(6, 7) x) -> (e, f, g) {\n"
      "  a(i, j) = exp(x(i, j))\n"
      "  b(i) +=! a(i, r)\n"
      "  e(i) = b(i) * 2.0\n"
      "  c(i) +=! x(i, r)\n"
      "  f(i) max=! a(i, r)\n"
      "  g(i) = c(i) + f(i)\n}");
  const Program p = make_adjacent(plain(graph), Stages{0, 1, 4});
  std::string order;
  for (const Kernel& kernel : p.kernels)
    order += stage_name(p.graph, p.graph.stages[kernel.root.stage]);
  EXPECT_EQ(order, "cabfeg");
  expect_faithful(p, graph);
  EXPECT_TRUE(can_gather(plain(graph), Stages{1, 4}));
  EXPECT_FALSE(can_gather(plain(graph), Stages{0, 3, 5})) << "f lies between";
  expect_refused([&] { make_adjacent(plain(graph), Stages{0, 3, 5}); }, "needed by another");
  expect_refused([&] { make_adjacent(plain(graph), Stages{1}); }, "two or more");
  expect_refused([&] { make_adjacent(plain(graph), Stages{1, 1}); }, "there twice");
}

TEST(Gather, BesideWhatIsAttached) {
  const Graph graph = parse_graph(
      "def main(float(6, 7) x) -> (e, f, g) {\n"
      "  a(i, j) = exp(x(i, j))\n"
      "  b(i) +=! a(i, r)\n"
      "  t(i, j) = x(i, j) * 2.0\n"
      "  u(i, j) = t(i, j) + x(i, j)\n"
      "  e(i) = b(i) * 2.0\n"
      "  f(i) +=! u(i, r) * t(i, r)\n"
      "  g(i) max=! a(i, r)\n}");
  Program p = plain(graph);
  p = compute_at(p, stage_of(p, "u"), stage_of(p, "f"), 1);
  p = compute_at(p, stage_of(p, "t"), stage_of(p, "f"), 1);
  const Stages rows{stage_of(p, "a"), stage_of(p, "b"), stage_of(p, "g")};
  const Program gathered = make_adjacent(p, rows);
  expect_faithful(gathered, graph);
  EXPECT_EQ(gathered.kernels.size(), p.kernels.size());
  expect_refused([&] { make_adjacent(p, Stages{stage_of(p, "a"), stage_of(p, "u")}); },
                 "attached to another");
}

// What is attached is there when its host's kernel is done, for others, too.
TEST(Gather, BehindWhatAnotherHasAttached) {
  const Graph graph = parse_graph(
      "def main(float(6, 7) x) -> (e, f, g) {\n"
      "  t(i, j) +=! x(i, r) * x(r % 6, j) where i in 0:6, j in 0:7, r in 0:7\n"
      "  f(i) max=! t(i, r)\n"
      "  g(i) +=! t(i, r)\n"
      "  e(i) +=! x(i, r)\n}");
  Program p = plain(graph);
  p = compute_at(p, stage_of(p, "t"), stage_of(p, "f"), 1);
  const Stages both{stage_of(p, "e"), stage_of(p, "f")};
  expect_faithful(make_adjacent(p, both), graph);
  const Stages around{stage_of(p, "f"), stage_of(p, "g"), stage_of(p, "e")};
  expect_faithful(make_adjacent(p, around), graph);
}

}  // namespace
}  // namespace adjit::sched
