// tests/autosched/moves/postpone_test.cpp -- a kernel behind another.
#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

const char* const kFour =
    "def f(float(4, 5) x) -> (c, d) {\n a(j) +=! x(r, j)\n b(i) +=! x(i, r)\n c(j) = a(j) * 2.0\n"
    " d(i, j) = x(i, j) * b(i)\n}";

TEST(Postpone, TakesWhatNeedsItAlong) {
  const Graph g = parse_graph(kFour);
  const Program p = postpone(plain(g), 0, 3);
  std::string order;
  for (const Stage& stage : p.graph.stages) order += stage_name(p.graph, stage);
  EXPECT_EQ(order, "bdac");
  expect_faithful(p, g);
  EXPECT_EQ(print(replay(g, p.moves_json, p.target)), print(p));
}

TEST(Postpone, WhatIsAttachedComesAlong) {
  const Graph g = parse_graph(kFour);
  Program p = compute_at(plain(g), 1, 3, 1);
  p = postpone(p, 0, stage_of(p, "d"));
  EXPECT_EQ(stage_of(p, "a"), 2u);
  expect_faithful(p, g);
}

TEST(Postpone, Refusals) {
  const Graph g = parse_graph(kFour);
  const Program p = plain(g);
  expect_refused([&] { postpone(p, 0, 2); }, "the other needs it");
  expect_refused([&] { postpone(p, 3, 0); }, "behind the other already");
  expect_refused([&] { postpone(p, 0, 9); }, "no such stage");
  const Program attached = compute_at(p, 1, 3, 1);
  expect_refused([&] { postpone(attached, 1, 3); }, "attached to another");
  expect_refused([&] { postpone(attached, 0, 1); }, "no kernel's root");
}

}  // namespace
}  // namespace adjit::sched
