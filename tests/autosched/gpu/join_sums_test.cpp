// tests/autosched/gpu/join_sums_test.cpp -- sums over the same pairs, in one kernel.
#include "autosched/gpu/join_sums.hpp"

#include <string>

#include "autosched/passes/group_siblings.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// Sums of a Gaussian kernel of so many points, with weights and vectors of these lengths.
Graph kernel_sums(int64_t points, int64_t weights, const std::string& last) {
  const std::string n = std::to_string(points), w = std::to_string(weights);
  const std::string value = "exp(-((x(i, 0) - y(k, 0)) * (x(i, 1) - y(k, 1))))";
  return parse_graph("def f(float(" + n + ", 4) x, float(" + n + ", 4) y, float(" + n + ", " + w +
                     ") v, float(" + n + ") q) -> (u, s) {\n" + "  u(i, c) +=! " + value +
                     " * v(k, c)\n  s(" + last + ") +=! " + value + " * q(i) * " +
                     (last == "i" ? "q(k)" : "(x(i, d) - y(k, d))") +
                     (last == "i" ? "" : " where d in 0:3") + "\n}");
}

Program joined(const Graph& graph, const GpuMachine& machine) {
  Choices usual;
  Program p = initial_program(graph, machine);
  p = fuse_sibling_groups(split_for_joint_sums(std::move(p), machine), {}, usual);
  return p;
}

// Sums of each kernel that has any.
std::string sums_in(const Program& program) {
  std::string text;
  for (const Kernel& kernel : program.kernels) {
    const Stage& stage = program.graph.stages[kernel.root.stage];
    if (stage.domain.reduction_rank() > 0) text += std::to_string(stage.results.size()) + " ";
  }
  return text;
}

TEST(JoinSums, PairsAreComputedForAllSums) {
  EXPECT_EQ(sums_in(joined(kernel_sums(10'000, 4, "i, d"), kGpu)), "7 ");
  EXPECT_EQ(sums_in(joined(kernel_sums(10'000, 4, "i"), kGpu)), "5 ") << "one has no short axis";
  EXPECT_EQ(sums_in(joined(kernel_sums(10'000, 4, "d, i"), kGpu)), "1 1 ")
      << "its short axis is not the last one";
}

TEST(JoinSums, ManyResultsStayApart) {
  EXPECT_EQ(sums_in(joined(kernel_sums(10'000, 5, "i, d"), kGpu)), "1 1 ");
  EXPECT_EQ(sums_in(joined(kernel_sums(10'000, 32, "i, d"), kGpu)), "1 1 ");
}

TEST(JoinSums, ProductsHaveNothingInCommonButWhatTheyRead) {
  EXPECT_EQ(sums_in(joined(
                parse_graph("def f(float(4096, 4096) x, float(4096, 4) v, float(4096, 3) w) -> "
                            "(y, z) {\n  y(i, c) +=! x(i, k) * v(k, c)\n"
                            "  z(i, d) +=! x(i, k) * w(k, d)\n}"),
                kGpu)),
            "1 1 ");
}

// Sums of what is no product (a mask, here) are siblings as they are.
TEST(JoinSums, WhatIsFusedAnywayIsNotTakenApart) {
  const auto masked = [](const std::string& axes) {
    return "select(x(i, 0) < y(k, 0), exp(x(i, 1) * y(k, 1)) * v(k, " + axes + "), 0.0)";
  };
  const Graph graph = parse_graph(
      "def f(float(2000, 4) x, float(2000, 4) y, float(2000, 4) v) -> (u, s) {\n  u(i, c) +=! " +
      masked("c") + " where c in 0:2\n  s(i, d) +=! " + masked("d + 2") + " where d in 0:2\n}");
  EXPECT_EQ(sums_in(joined(graph, kGpu)), "2 ");
}

// A sum that needs another one is not computed with it.
TEST(JoinSums, WhatOneNeedsOfAnotherStaysInFront) {
  const Graph graph = parse_graph(
      "def f(float(10000, 3) x, float(10000, 3) y, float(10000, 2) v) -> (u, s) {\n"
      "  u(i, c) +=! exp(x(i, 0) * y(k, 0)) * v(k, c)\n  n(i) = u(i, 0) * 2.0 + u(i, 1)\n"
      "  s(i, d) +=! exp(x(i, 0) * y(k, 0)) * n(k) * (x(i, d) - y(k, d)) where d in 0:3\n}");
  const Program p = split_for_joint_sums(initial_program(graph, kGpu), kGpu);
  EXPECT_EQ(p.graph.stages.size(), graph.stages.size());
}

// Where launches take what is saved.
TEST(JoinSums, FewPairsStayApart) {
  EXPECT_EQ(sums_in(joined(kernel_sums(64, 4, "i, d"), kGpu)), "1 1 ");
  EXPECT_EQ(sums_in(joined(kernel_sums(4096, 4, "i, d"), kGpu)), "7 ");
}

TEST(JoinSums, MeanTheSame) {
  for (const char* last : {"i, d", "i", "d, i"})
    for (const int64_t weights : {1, 3, 4}) {
      const Graph graph = kernel_sums(40, weights, last);
      const Program p = joined(graph, kSlowGpu);
      expect_faithful(p, graph);
      expect_faithful(default_schedule(graph, kSlowGpu), graph);
      EXPECT_EQ(sums_in(p) == "1 1 ", std::string(last) == "d, i") << sums_in(p) << weights;
    }
}

}  // namespace
}  // namespace adjit::sched
