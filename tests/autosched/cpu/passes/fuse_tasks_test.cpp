// tests/autosched/cpu/passes/fuse_tasks_test.cpp -- which loops are planned so that kernels chain.
#include "autosched/cpu/passes/fuse_tasks.hpp"

#include "autosched/analysis/task_chains.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

Graph attention(int64_t heads, int64_t length, int64_t width) {
  const std::string h = std::to_string(heads), l = std::to_string(length),
                    w = std::to_string(width), shape = "float(" + h + ", " + l + ", " + w + ") ";
  return parse_graph(
      "def main(" + shape + "q, " + shape + "k, " + shape + "v) -> (o) {\n" +
      " s(b, i, j) +=! q(b, i, r) * k(b, j, r)\n m(b, i) max=! s(b, i, r)\n"
      " e(b, i, j) = exp(s(b, i, j) - m(b, i))\n n(b, i) +=! e(b, i, r)\n"
      " p(b, i, j) = e(b, i, j) / n(b, i)\n o(b, i, j) +=! p(b, i, r) * v(b, r, j)\n}");
}

TEST(PlanChains, HeadsThatFitTheCacheWhereAllDoNot) {
  const CpuMachine small{.cores = 2, .l2_bytes = 32 << 10};
  const Graph graph = attention(12, 64, 8);
  const Program p = default_schedule(graph, small);
  const TaskChains chains = task_chains(p);
  ASSERT_GE(p.kernels.size(), 2u);
  for (size_t k = 0; k < p.kernels.size(); ++k) {
    EXPECT_EQ(task_count(p.kernels[k].root), 12) << print(p);
    EXPECT_EQ(chains.continues[k], k > 0);
  }
  expect_faithful(p, graph);
  // A head that leaves L2 is still near in the last one, if that holds not all.
  const Graph many = attention(48, 64, 8);
  CpuMachine last{.cores = 2, .l2_bytes = 8 << 10, .l3_bytes = 1 << 20};
  EXPECT_EQ(task_count(default_schedule(many, last).kernels.front().root), 48);
  last.l3_bytes = 64 << 20;
  EXPECT_LT(task_count(default_schedule(many, last).kernels.front().root), 48);
  // In a large cache all heads fit: few tasks.
  const Program whole = default_schedule(graph, CpuMachine{.cores = 2, .l2_bytes = 64 << 20});
  EXPECT_LT(task_count(whole.kernels.front().root), 12);
}

// The input's gradient of a 3 x 3 convolution of stride 2: n images of h x h.
Graph strided_adjoint(int64_t n, int64_t channels, int64_t inputs, int64_t h) {
  const auto str = [](int64_t k) { return std::to_string(k); };
  const std::string half = str(h / 2), last = str(h / 2 - 1);
  return parse_graph("def f(float(" + str(n) + ", " + str(channels) + ", " + half + ", " + half +
                     ") g, float(" + str(channels) + ", " + str(inputs) + ", 3, 3) w) -> (d) {\n" +
                     " d(i, j, k, l) +=! g(i, m, n * -1 + (k + 1) // 2, o * -1 + (l + 1) // 2) *"
                     " w(m, j, n * 2 + k - (k + 1) // 2 * 2 + 1, o * 2 + l - (l + 1) // 2 * 2 + 1)"
                     " where i in 0:" +
                     str(n) + ", j in 0:" + str(inputs) + ", k in 0:" + str(h) +
                     ", l in 0:" + str(h) + ", m in 0:" + str(channels) + ", n in 0:2, o in 0:2," +
                     " q0 = (k + 1) // 2, q1 = (l + 1) // 2, n + " + last + " >= q0, o + " + last +
                     " >= q1,"
                     " 2*q0 + 1 >= k + 2*n, 2*q1 + 1 >= l + 2*o\n}");
}

// An image's zeros around it, its sums by residues, and the image that these are put together to.
TEST(PlanChains, ImagesOfAStridedConvolutionsAdjoint) {
  const Program p = default_schedule(strided_adjoint(8, 128, 64, 56), CpuMachine{.cores = 2});
  const TaskChains chains = task_chains(p);
  ASSERT_EQ(p.kernels.size(), 4u) << print(p);
  EXPECT_EQ(stage_name(p.graph, p.graph.stages[p.kernels[0].root.stage]), "w_packed");
  EXPECT_EQ(chains.continues, (std::vector<bool>{false, false, true, true})) << print(p);
  for (size_t k = 1; k < p.kernels.size(); ++k) EXPECT_EQ(task_count(p.kernels[k].root), 8);
  const Graph small = strided_adjoint(4, 4, 8, 10);
  expect_faithful(default_schedule(small, CpuMachine{.cores = 2}), small);
}

// What a task must pass on to be worth its call does not grow with the cache.
TEST(PlanChains, SmallHeadsOfALargeCache) {
  const CpuMachine large{.cores = 2, .l2_bytes = 2 << 20};
  EXPECT_EQ(task_count(default_schedule(attention(96, 96, 8), large).kernels.front().root), 96);
  EXPECT_LT(task_count(default_schedule(attention(400, 48, 8), large).kernels.front().root), 400);
}

// Every task of a chain would read all of a streamed operand: its product is no link of one.
TEST(PlanChains, StreamedOperandsAreSharedByAllTasks) {
  const Graph graph = parse_graph(
      "def f(float(16, 8, 2048) x, float(2048, 512) w) -> (y) {\n m(b, i) max=! x(b, i, r)\n"
      " e(b, i, k) = exp(x(b, i, k) - m(b, i))\n y(b, i, j) +=! e(b, i, r) * w(r, j)\n}");
  const CpuMachine small{.cores = 2, .l2_bytes = 256 << 10};
  const Program p = default_schedule(graph, small);
  const Nest& product = nest_of(p, stage_of(p, "y"));
  ASSERT_TRUE(product.ahead.has_value() || !product.attached.empty()) << print(p);
  EXPECT_LE(task_count(p.kernels.back().root), 4) << print(p);
}

}  // namespace
}  // namespace adjit::sched
