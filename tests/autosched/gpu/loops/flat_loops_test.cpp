// tests/autosched/gpu/loops/flat_loops_test.cpp -- which loops are threads, and what a thread
// computes.
#include "autosched/gpu/loops/flat_loops.hpp"

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/gpu/nest_text.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

Program started(const std::string& text) {
  return initial_program(parse_graph("def f(" + text), kSmallGpu);
}

int64_t lanes_of(const std::string& text) {
  return thread_lanes(started(text), 0, kSmallGpu).count;
}

// The loops of the last kernel, a word each.
std::string loops_of(const std::string& text) {
  Program p = started(text);
  const size_t stage = p.graph.stages.size() - 1;
  p = flat_loops(std::move(p), stage, kSmallGpu);
  expect_faithful(p, parse_graph("def f(" + text));
  return loops_text(p, stage);
}

TEST(FlatLoops, ResultsAreThreads) {
  EXPECT_EQ(loops_of("float(5, 7) x) -> (y) { y(i, j) = exp(x(i, j)) }"),
            "parallel:i:5 parallel:j:7");
  EXPECT_EQ(loops_of("float(5, 7) x) -> (y) { y(i) +=! x(i, r) }"), "parallel:i:5 serial:r_j:7");
  EXPECT_EQ(loops_of("float(5, 7) x) -> (y) { y() +=! x(q, r) }"), "serial:r_i:5 serial:r_j:7");
}

TEST(FlatLoops, AThreadComputesWhatOneAccessMoves) {
  EXPECT_EQ(loops_of("float(5, 32) x) -> (y) { y(i, j) = exp(x(i, j)) }"),
            "parallel:i:5 parallel:j:8 vector:j:4");
  EXPECT_EQ(loops_of("float(6, 7) a, float(7, 32) b) -> (y) { y(i, j) +=! a(i, r) * b(r, j) }"),
            "parallel:i:6 parallel:j:8 serial:r_k:7 vector:j:4");
  EXPECT_EQ(lanes_of("double(5, 32) x) -> (y) { y(i, j) = x(i, j) }"), 2);
  EXPECT_EQ(lanes_of("bfloat16(5, 32) x) -> (y) { y(i, j) = x(i, j) }"), 8);
  EXPECT_EQ(lanes_of("bool(5, 32) x) -> (y) { y(i, j) = x(i, j) }"), 8) << "eight at most";
}

TEST(FlatLoops, OneElementAThreadWhereSeveralDoNotLieSo) {
  EXPECT_EQ(lanes_of("float(5, 30) x) -> (y) { y(i, j) = x(i, j) }"), 1) << "no multiple of 4";
  EXPECT_EQ(lanes_of("float(32, 5) x) -> (y) { y(i, j) = x(j, i) }"), 1) << "columns";
  EXPECT_EQ(lanes_of("float(5, 32) x) -> (y) { y(i, j) = x(i, 31 - j) }"), 1) << "backwards";
  EXPECT_EQ(lanes_of("float(99) x, int64(5, 32) k) -> (y) { y(i, j) = x(k(i, j)) }"), 1);
  EXPECT_EQ(lanes_of("float(5, 34) x, float(3) w) -> (y) { y(i, j) +=! x(i, j + r) * w(r) "
                     "where i in 0:5, j in 0:32, r in 0:3 }"),
            4)
      << "neighbours all the same";
  EXPECT_EQ(lanes_of("float(5, 32) x) -> (y) { y(i, j) +=! x(i, r) where i in 0:5, j in 0:32, "
                     "r in 0:32, r <= j }"),
            1)
      << "reductions of several lengths";
}

TEST(FlatLoops, SeveralElementsAThreadOnlyWhereThreadsAreLeft) {
  const std::string text = "float(32) x) -> (y) { y(j) = x(j) }";
  EXPECT_EQ(lanes_of(text), 4);
  EXPECT_EQ(thread_lanes(started(text), 0, kGpu).count, 1);
}

TEST(FlatLoops, TheRestOfAScatterIsSerial) {
  EXPECT_EQ(loops_of("int64(9) k, float(9, 4) x) -> (h) { scatter float(5, 4) h(k(p), j) +=![drop] "
                     "x(p, j) where p in 0:9, j in 0:4 }"),
            "parallel:j:4 serial:i:9");
  EXPECT_EQ(loops_of("int64(9) k, float(9) x) -> (h) { scatter float(5) h(k(p)) +=![drop] x(p) "
                     "where p in 0:9 }"),
            "serial:i:9");
}

TEST(FlatLoops, WhatRunsOnDoesSoInItsThread) {
  EXPECT_EQ(loops_of("float(6, 9) x) -> (y) { y(i, j) +=! x(i, r) where i in 0:6, j in 0:9, "
                     "r in 0:9, r <= j }"),
            "parallel:i:6 serial:j:9");
}

TEST(FlatLoops, NothingIsParallelOfWhatHasNoPoints) {
  EXPECT_EQ(loops_of("float(0, 7) x) -> (y) { y(i, j) = exp(x(i, j)) }"), "serial:i:0 serial:j:7");
}

}  // namespace
}  // namespace adjit::sched
