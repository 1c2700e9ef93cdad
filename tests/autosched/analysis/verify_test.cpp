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
