// tests/autosched/analysis/verify_test.cpp -- programs with one thing wrong, each refused for it.
#include "autosched/analysis/verify.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "autosched/program/nests.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// A program of tiles, tasks and attached nests, before something is changed in it.
Program sound() {
  Program p = plain(softmax_graph(12, 40));
  for (size_t s : {2, 1, 0}) p = compute_at(std::move(p), s, 3, 1);
  p = vectorize(std::move(p), 3, 1, 16);
  return parallel(std::move(p), 3, 1);
}

void expect_illegal(const std::function<void(Program&)>& change, std::string_view reason) {
  Program p = sound();
  change(p);
  expect_refused([&] { verify(p); }, reason);
}

Nest& root(Program& p) { return p.kernels[0].root; }

TEST(VerifyProgram, ASoundProgramPasses) { EXPECT_NO_THROW(verify(sound())); }

TEST(VerifyProgram, EveryTensorHasAScopeThatFits) {
  expect_illegal([](Program& p) { p.scopes.pop_back(); }, "one scope for each tensor");
  expect_illegal([](Program& p) { p.scopes[p.graph.outputs[0].value] = Scope::Local; },
                 "its result has the scope local");
  expect_illegal([](Program& p) { p.scopes[p.graph.outputs[0].value] = Scope::Workspace; },
                 "an output is not an argument");
  expect_illegal([](Program& p) { p.scopes[p.graph.stages[0].results[0].value] = Scope::None; },
                 "scope none");
}

TEST(VerifyProgram, TablesNameStagesAndTensorsThatExist) {
  expect_illegal([](Program& p) { p.graph.running.emplace(99, Running{}); }, "runs on");
  expect_illegal([](Program& p) { p.graph.row_gaps[TensorId{99}] = 1; }, "rows have gaps");
}

TEST(VerifyProgram, EveryStageIsInOneNest) {
  Program missing = plain(softmax_graph(12, 40));
  missing.kernels.erase(missing.kernels.begin());
  expect_refused([&] { verify(missing); }, "stage 'm' is in no kernel");
  expect_illegal([](Program& p) { root(p).attached[0].nest.stage = 3; }, "in two nests");
  expect_illegal([](Program& p) { root(p).attached[0].nest.stage = 99; }, "does not exist");
}

TEST(VerifyProgram, LoopsCoverTheirAxes) {
  expect_illegal([](Program& p) { root(p).loops[0].trips = 11; }, "the loops do not cover it");
  expect_illegal([](Program& p) { root(p).loops[0].step = 0; }, "without a positive step");
  expect_illegal([](Program& p) { root(p).loops[0].axis = 7; }, "does not exist");
  expect_illegal([](Program& p) { root(p).spans.pop_back(); }, "given for every axis");
}

TEST(VerifyProgram, KindsOfLoopsComeInTheirOrder) {
  expect_illegal([](Program& p) { std::swap(root(p).loops.front(), root(p).loops.back()); }, "");
  expect_illegal([](Program& p) { root(p).attached[0].nest.loops[0].kind = LoopKind::Parallel; },
                 "");
  expect_illegal([](Program& p) { root(p).loops.back().trips = 12; }, "");
}

TEST(VerifyProgram, VariablesBelongToOneLoopEach) {
  expect_illegal([](Program& p) { root(p).loops[1].variable = root(p).loops[0].variable; }, "");
  expect_illegal([](Program& p) { root(p).loops[1].variable = 99; }, "");
}

TEST(VerifyProgram, AttachedNestsCoverWhatIsReadInOrder) {
  expect_illegal([](Program& p) { root(p).attached[1].nest.spans[1] = 39; }, "");
  expect_illegal([](Program& p) { std::swap(root(p).attached[0], root(p).attached[2]); },
                 "not in the order of depths and stages");
  expect_illegal([](Program& p) { root(p).attached[0].depth = 0; }, "attached at depth 0");
  expect_illegal([](Program& p) { root(p).attached[0].depth = 9; }, "attached at depth 9");
}

TEST(VerifyProgram, KernelsFollowWhatTheyRead) {
  Program p = plain(softmax_graph(12, 40));
  EXPECT_NO_THROW(verify(p));
  std::swap(p.kernels[0], p.kernels[1]);
  expect_refused([&] { verify(p); }, "kernels are not ordered");
  Program none = plain(softmax_graph(12, 40));
  none.scopes[none.graph.stages[1].results[0].value] = Scope::None;
  EXPECT_THROW(verify(none), Error);
}

TEST(VerifyProgram, OnlyAScanHasAProgramOfItsSteps) {
  expect_illegal(
      [](Program& p) {
        p.kernels[0].steps = std::make_shared<const Program>(plain(matmul_graph(2, 2, 2)));
      },
      "has a program of its steps");
}

TEST(VerifyProgram, WhatIsFetchedAheadIsOfALoopAroundIt) {
  expect_illegal([](Program& p) { root(p).ahead = 99; }, "it fetches what a loop reads next");
}

TEST(VerifyProgram, TasksStoreWhatIsTheirOwn) {
  Program p = plain_on_gpu(parse_graph(
      "def f(float(4, 6) x) -> (m, y) { m(i) max=! x(i, k)  y(i, j) = x(i, j) - m(i) }"));
  p = parallel(compute_at(std::move(p), 0, 1, 1), 1, 1);
  EXPECT_NO_THROW(verify(p));
  root(p).loops[1].kind = LoopKind::Parallel;
  expect_refused([&] { verify(p); }, "nest of 'm': several tasks store its result");
}

// ---- Threads of blocks. Changed by hand: moves would refuse.

void expect_threads(const Program& p, std::string_view fault) {
  if (fault.empty())
    EXPECT_NO_THROW(verify(p)) << print(p);
  else
    expect_refused([&] { verify(p); }, fault);
}

// The product's loops i, j, k with some of them given to threads.
Program product_with(std::initializer_list<size_t> order, std::initializer_list<size_t> threads) {
  Program p = plain_on_gpu(matmul_graph(8, 16, 4));
  p = with_order(std::move(p), 0, std::vector<size_t>(order));
  for (const size_t l : threads) root(p).loops[l].kind = LoopKind::Thread;
  return p;
}

TEST(VerifyProgram, ThreadLoopsStandAmongSerialOnesAndAreForGpus) {
  Program p = product_with({0, 1, 2}, {1});
  expect_threads(p, "");
  p.target = kTwoCores;
  expect_threads(p, "nest of 'C': it has thread loops, and a processor runs no blocks of threads");
  Program outside = product_with({0, 1, 2}, {0});
  root(outside).loops[1].kind = LoopKind::Parallel;
  expect_threads(outside, "loops must be parallel, then serial or of threads");
  Program inside = unroll(plain_on_gpu(matmul_graph(8, 16, 4)), 0, 1, 16);
  root(inside).loops.back().kind = LoopKind::Thread;
  expect_threads(inside, "");
  std::swap(root(inside).loops[1], root(inside).loops[2]);
  root(inside).loops[1].kind = LoopKind::Unrolled;
  expect_threads(inside, "loops must be parallel, then serial or of threads");
}

TEST(VerifyProgram, ABlockHasALimitOfThreads) {
  const auto threads = [](int64_t rows, int64_t columns) {
    Program p = plain_on_gpu(column_sum_graph(rows, columns));
    for (Loop& loop : root(p).loops) loop.kind = LoopKind::Thread;
    return p;
  };
  expect_threads(threads(32, 32), "");
  expect_threads(threads(32, 33), "more threads than a block may have");
  expect_threads(threads(1, 1025), "more threads than a block may have");
  expect_threads(threads(0, 4), "a thread loop has no trips");
}

TEST(VerifyProgram, ThreadsReduceWhatHasPartialResults) {
  const Graph g =
      parse_graph("def f(float(4, 5) x) -> (v, n) { (v, n)(i) argmax=! (x(i, s), 4 - s) }");
  Program p = plain_on_gpu(g);
  root(p).loops[0].kind = LoopKind::Thread;
  expect_threads(p, "");
  root(p).loops[1].kind = LoopKind::Thread;
  expect_threads(p, "its combiner keeps one accumulator");
  Program first = plain_on_gpu(
      parse_graph("def f(float(4, 5) x) -> (v, n) { (v, n)() argmax=! (x(r, s), 5 * r + s) }"));
  std::swap(root(first).loops[0], root(first).loops[1]);
  root(first).loops[1].kind = LoopKind::Thread;
  expect_threads(first, "");  // in any order
}

TEST(VerifyProgram, ThreadsThatReduceTogetherKeepTheirAccumulators) {
  expect_threads(product_with({0, 1, 2}, {0, 1}), "");     // each by itself
  expect_threads(product_with({0, 2, 1}, {0}), "");        // through memory, of its own results
  expect_threads(product_with({0, 1, 2}, {2}), "");        // over the reduction
  expect_threads(product_with({0, 1, 2}, {0, 1, 2}), "");  // over all
  expect_threads(product_with({2, 0, 1}, {1, 2}), "");     // inside the reduction's serial loop
  expect_threads(product_with({0, 2, 1}, {0, 2}), "");     // around and inside it
  constexpr std::string_view kInside = "another one than over the reduction is serial";
  expect_threads(product_with({0, 2, 1}, {1}), kInside);
  expect_threads(product_with({2, 0, 1}, {1}), kInside);
  constexpr std::string_view kOutside = "does not stand directly outside theirs";
  expect_threads(product_with({2, 0, 1}, {2}), kOutside);
  Program in_turn = parallel(plain_on_gpu(column_sum_graph(8, 16)), 0, 2);
  root(in_turn).loops[0].kind = LoopKind::Thread;
  expect_threads(in_turn, "loops must be parallel");
  Program tasks = tile(plain_on_gpu(column_sum_graph(8, 16)), 0, 1, std::vector<int64_t>{4});
  tasks = parallel(with_order(std::move(tasks), 0, std::vector<size_t>{1, 0, 2}), 0, 1);
  root(tasks).loops[1].kind = LoopKind::Thread;
  expect_threads(tasks, "");
  root(tasks).loops[2].kind = LoopKind::Thread;
  expect_threads(tasks, kOutside);
}

TEST(VerifyProgram, ThreadsThatReduceTogetherMayHaveTilesPastTheEnd) {
  // 24 columns, by threads of 4 lanes each.
  const auto columns = [](int64_t trips, bool together) {
    Program p = vectorize(plain_on_gpu(column_sum_graph(8, 24)), 0, 0, 4);
    p = tile(std::move(p), 0, 0, std::vector<int64_t>{4 * trips});
    if (together) p = with_order(std::move(p), 0, std::vector<size_t>{0, 2, 1, 3});
    root(p).loops[together ? 2 : 1].kind = LoopKind::Thread;
    return p;
  };
  expect_threads(columns(3, true), "");
  expect_threads(columns(3, false), "");
  expect_threads(columns(4, true), "");
  expect_threads(columns(4, false), "");
}

TEST(VerifyProgram, NestsAreOfTheBlockOrOfAThread) {
  const auto rows = [](size_t depth) {
    Program p = plain_on_gpu(softmax_graph(12, 40));
    p = tile(std::move(p), 3, 1, std::vector<int64_t>{8});
    for (size_t s : {2, 1, 0}) p = compute_at(std::move(p), s, 3, depth);
    return p;
  };
  Program p = rows(1);
  root(p).loops[1].kind = root(p).loops[2].kind = LoopKind::Thread;
  expect_threads(p, "");
  root(p).attached[1].nest.loops[0].kind = LoopKind::Thread;
  expect_threads(p, "");
  root(p).loops[0].kind = LoopKind::Thread;
  expect_threads(p, "nest of 'm': it is computed between two thread loops");
  root(p).loops[1].kind = root(p).loops[2].kind = LoopKind::Serial;
  expect_threads(p, "nest of 'e': it is computed inside thread loops and has some itself");
}

TEST(VerifyProgram, NoReductionGoesOnFromMemoryAroundWhatABlockComputes) {
  Program p = plain_on_gpu(
      parse_graph("def f(float(4, 3, 2, 32) x) -> (s) {\n c(i, r, q, t) = exp(x(i, r, q, t))\n"
                  " s(i) +=! c(i, r, q, t)\n}"));
  const Program inside = compute_at(p, 0, 1, 3);
  EXPECT_NO_THROW(verify(threads(inside, 0, 3, 32))) << "all of it keeps its accumulators";
  p = compute_at(reorder(std::move(p), 1, std::vector<size_t>{1, 0, 2, 3}), 0, 1, 3);
  expect_refused([&] { threads(p, 0, 3, 32); }, "it goes on from partial results in memory");
  // In the other order: threads first, then what is attached further in.
  Program two = plain_on_gpu(
      parse_graph("def f(float(4, 3, 2, 32) x) -> (s) {\n c(i, r, q, t) = exp(x(i, r, q, t))\n"
                  " d(i, r, q, t) = sin(x(i, r, q, t))\n"
                  " s(i) +=! c(i, r, q, t) * d(i, r, q, t)\n}"));
  two = compute_at(reorder(std::move(two), 2, std::vector<size_t>{1, 0, 2, 3}), 0, 2, 2);
  two = threads(std::move(two), 0, 3, 32);
  EXPECT_NO_THROW(verify(two));
  expect_refused([&] { compute_at(two, 1, 2, 3); }, "it goes on from partial results in memory");
}

TEST(VerifyProgram, KernelsOfScattersHaveNoThreadLoops) {
  const auto expect_none = [](const char* text, size_t kernel, size_t loop) {
    Program p = plain_on_gpu(parse_graph(text));
    p.kernels.at(kernel).root.loops.at(loop).kind = LoopKind::Thread;
    expect_threads(p, "kernels of scatters and scans have no thread loops");
  };
  expect_none(
      "def h(float(12) x, int64(12) n) -> (h) { "
      "scatter float(4) h(n(i)) +=[drop] x(i) where i in 0:12 }",
      1, 0);
}

TEST(VerifyProgram, ReductionsThatTakeTheFirstRunInOrder) {
  const Graph g =
      parse_graph("def f(float(4, 5) x) -> (v, n) { (v, n)() argmax=! (x(r, s), 5 * r + s) }");
  Program p = plain(g);
  EXPECT_NO_THROW(verify(p));
  std::swap(p.kernels[0].root.loops[0], p.kernels[0].root.loops[1]);
  expect_refused([&] { verify(p); }, "takes the reduction in order");
}

}  // namespace
}  // namespace adjit::sched
