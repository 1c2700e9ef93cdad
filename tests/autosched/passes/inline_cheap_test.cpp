// tests/autosched/passes/inline_cheap_test.cpp -- which stages are computed again by their readers.
#include "autosched/passes/inline_cheap.hpp"

#include <gtest/gtest.h>

#include "autosched/analysis/task_chains.hpp"
#include "autosched/lower/prefix.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

using StageList = std::vector<size_t>;

TEST(Inlining, CheapBodiesGoIntoTheirReadersExpensiveOnesStay) {
  const Graph g = softmax_graph(8, 64);  // e = exp(...) is read by a sum and by y
  EXPECT_EQ(plan_inlining(plain(g)).inlined, StageList{});
  Builder b;
  ExprPool& p = b.graph.pool;
  const TensorId x = b.input("x", {8, 64}), w = b.input("w", {64, 32});
  const TensorId cheap =
      b.stage("cheap", {8, 64}, 2, CombinerKind::None, p.neg(b.at(x, {b.axis(0), b.axis(1)})));
  b.output(b.stage("s", {8, 64}, 1, CombinerKind::Sum, b.at(cheap, {b.axis(0), b.axis(1)})));
  EXPECT_EQ(plan_inlining(plain(b.graph)).inlined, StageList{0});
  // Into the inner loop of a product it would be evaluated 32 times.
  b.output(b.stage("c", {8, 32, 64}, 2, CombinerKind::Sum,
                   p.mul(b.at(cheap, {b.axis(0), b.axis(2)}), b.at(w, {b.axis(2), b.axis(1)}))));
  EXPECT_EQ(plan_inlining(plain(b.graph)).inlined, StageList{});
}

// Squared distances, read by rows and by columns: too large to store, cheap to compute again.
TEST(Inlining, LargeArraysReadAcrossTheirRowsAreComputedAgain) {
  const auto kernel = [](int64_t n, const std::string& across) {
    const std::string size = std::to_string(n);
    return parse_graph("def main(float(" + size + ", 3) x, float(" + size + ", 3) y, float(" +
                       size +
                       ") w) -> (a, b) {\n  d(i, j) +=! (x(i, r_k) - y(j, r_k)) * (x(i, r_k) - " +
                       "y(j, r_k))\n  e(i, j) = exp(-d(i, j))\n  a(i) +=! e(i, r_j) * w(r_j)\n" +
                       "  b(i) +=! e(" + across + ") * w(r_j)\n}");
  };
  EXPECT_EQ(sums_worth_expanding(plain(kernel(2000, "r_j, i"))), StageList{0});
  EXPECT_EQ(sums_worth_expanding(plain(kernel(100, "r_j, i"))), StageList{})
      << "stays in the caches";
  const Graph crossed = kernel(2000, "r_j, i");
  const Program p = default_schedule(crossed, CpuMachine{.cores = 2, .vector_bits = 512});
  const TaskChains chains = task_chains(p);
  for (size_t t = 0; t < p.graph.tensors.size(); ++t) {
    const TensorInfo& info = p.graph.tensors[t];
    const bool partial = info.name.ends_with("_parts") && info.element_count() < 400000;
    EXPECT_TRUE(p.scopes[t] != Scope::Workspace || chains.slices[t] > 0 || partial ||
                info.element_count() < 100000)
        << info.name;
  }
  // Read by rows only, it is computed row by row where it is read.
  const Graph along = kernel(2000, "i, r_j");
  EXPECT_EQ(plan_inlining(plain(along)).inlined, StageList{});
}

TEST(Inlining, OutputsAreRecomputedByPointwiseReaders) {
  Builder b;
  const TensorId x = b.input("x", {64});
  const TensorId y =
      b.stage("y", {64}, 1, CombinerKind::None, b.graph.pool.make(Op::Exp, {b.at(x, {b.axis(0)})}));
  b.output(y);
  b.output(b.stage("z", {64}, 1, CombinerKind::None, b.graph.pool.neg(b.at(y, {b.axis(0)}))));
  const InliningPlan plan = plan_inlining(plain(b.graph));
  EXPECT_EQ(plan.recomputed, StageList{0});
  EXPECT_EQ(plan.inlined, StageList{});
}

// Sums that run along memory take their terms one by one: what takes many instructions is computed
// in lanes before, and what takes few is not. Sums that run across memory are in lanes themselves.
TEST(Inlining, CostlyTermsOfRunningSumsAreComputedInLanesBefore) {
  const auto kernels = [](const char* term, const char* index, const char* row) {
    const std::string text = std::string("def f(float(64, 64) x) -> (y) { t(i, j) = ") + term +
                             " where i in 0:64, j in 0:64\n y(i, j) +=! t(" + index +
                             ") where i in 0:64, j in 0:64, r_k in 0:64, " + row + " }";
    const Graph g = parse_graph(text);
    EXPECT_EQ(lower_running(LoweredGraph(g)).running.size(), 1u) << text;
    Program program = default_schedule(g, CpuMachine{2, 512});
    expect_faithful(program, g);
    return program.kernels.size();
  };
  EXPECT_EQ(kernels("tanh(x(i, j))", "i, r_k", "r_k <= j"), 2u);
  EXPECT_EQ(kernels("tanh(x(i, j))", "i, r_k", "r_k >= j"), 2u);
  EXPECT_EQ(kernels("x(i, j) * 2.0", "i, r_k", "r_k <= j"), 1u);
  EXPECT_EQ(kernels("tanh(x(i, j))", "r_k, j", "r_k <= i"), 1u);
}

}  // namespace
}  // namespace adjit::sched
