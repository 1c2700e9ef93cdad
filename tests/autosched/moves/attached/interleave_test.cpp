// tests/autosched/moves/attached/interleave_test.cpp -- several rows at once in what is attached to
// a loop.
#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// A softmax whose maxima, exponentials and sums are computed row by row.
Program rows_of_softmax(const Graph& graph) {
  Program p = plain(graph);
  for (size_t s : {2, 1, 0}) p = compute_at(std::move(p), s, 3, 1);
  return p;
}

TEST(Interleave, WhatIsAttachedTakesGroupsOfRows) {
  const Graph g = softmax_graph(24, 10);
  const Program p = interleave(rows_of_softmax(g), 3, 1, 4);
  const Nest& root = p.kernels[0].root;
  EXPECT_EQ(root.loops[0].step, 4);
  EXPECT_EQ(root.loops[0].trips, 6);
  EXPECT_EQ(root.loops[1].axis, 0u);
  EXPECT_EQ(root.loops[1].trips, 4);
  for (const Nest::Attached& attached : root.attached) {
    EXPECT_EQ(attached.depth, 1u);
    EXPECT_EQ(attached.nest.spans[0], 4);
  }
  expect_faithful(p, g);
}

TEST(Interleave, TheLastGroupMayHaveFewerRows) {
  const Graph g = softmax_graph(24, 10);
  for (const int64_t rows : {5, 7, 23, 24})
    expect_faithful(interleave(rows_of_softmax(g), 3, 1, rows), g);
  EXPECT_THROW(interleave(rows_of_softmax(g), 3, 1, 25), Error);
  EXPECT_THROW(interleave(rows_of_softmax(g), 3, 1, 0), Error);
  EXPECT_THROW(interleave(rows_of_softmax(g), 3, 1, -4), Error);
}

TEST(Interleave, GroupsDivideTheStepOfALoopOutside) {
  const Graph g = softmax_graph(24, 10);
  Program p = tile(plain(g), 3, 0, std::vector<int64_t>{8});
  for (const size_t s : {2, 1, 0}) p = compute_at(std::move(p), s, 3, 2);
  expect_refused([&] { interleave(p, 3, 2, 3); }, "multiple of the rows");
  expect_faithful(interleave(p, 3, 2, 4), g);
}

TEST(Interleave, OnlyTheLoopThatSomethingIsAttachedTo) {
  const Graph g = softmax_graph(24, 10);
  EXPECT_THROW(interleave(plain(g), 3, 1, 4), Error) << "nothing is attached";
  EXPECT_THROW(interleave(rows_of_softmax(g), 3, 2, 2), Error);
  EXPECT_THROW(interleave(rows_of_softmax(g), 3, 9, 2), Error);
}

// As many rows as a tensor has, which others read, too: each group would compute all of it.
TEST(Interleave, WhatOthersReadIsComputedOnce) {
  const Graph g = parse_graph(R"(def f(float(4, 8) x, float(12, 8) w) -> (y, s) {
    s(i) +=! x(i, r)
    y(i, j) = select(i < 4, s(i), 0.0) + w(i, j) where i in 0:12
  })");
  Program p = compute_at(plain(g), 0, 1, 1);
  EXPECT_TRUE(interleaves_once(p, 1, 1, 2));
  expect_faithful(interleave(p, 1, 1, 2), g);
  EXPECT_FALSE(interleaves_once(p, 1, 1, 4));
  expect_refused([&] { interleave(p, 1, 1, 4); }, "more than once");
}

TEST(Interleave, IsReplayed) {
  const Graph g = softmax_graph(24, 10);
  const Program p = interleave(rows_of_softmax(g), 3, 1, 4);
  EXPECT_TRUE(has_move(p, "interleave"));
  EXPECT_EQ(print(replay(g, p.moves_json, p.target)), print(p));
}

}  // namespace
}  // namespace adjit::sched
