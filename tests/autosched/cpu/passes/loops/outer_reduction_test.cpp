// tests/autosched/cpu/passes/loops/outer_reduction_test.cpp -- outer steps of a reduction outside
// all results.
#include "autosched/cpu/passes/loops/outer_reduction.hpp"

#include "autosched/lower/initial_program.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// The gradient of 3 x 3 weights over so many images. `shifted`: a condition bounds the images.
Graph weight_gradient(int64_t images, bool shifted = false, const std::string& sum = "+=!") {
  const std::string n = std::to_string(images);
  return parse_graph("def f(float(" + n + ", 28, 28, 64) d, float(" + n +
                     ", 64, 30, 30) x) -> (w) { w(c, o, p, q) " + sum +
                     " d(r_n, r_y, r_x, o) * x(r_n, c, r_y + p, r_x + q) where c in 0:64, "
                     "o in 0:64, p in 0:3, q in 0:3, r_n in 0:" +
                     n + ", r_y in 0:28, r_x in 0:28" + (shifted ? ", r_n >= q" : "") + " }");
}

// Whether the loop over the images runs outside all loops over results but the tasks'.
bool in_passes(const Graph& graph, int64_t l2_bytes, Answers answers = {}) {
  CpuMachine machine{2, 512};
  machine.fma_bits = 1024;
  machine.l2_bytes = l2_bytes;
  Choices choices(std::move(answers));
  const Program program = schedule_with(graph, machine, choices);
  const auto kernel = std::ranges::find_if(program.kernels, [&](const Kernel& k) {
    return program.graph.stages[k.root.stage].domain.reduction_rank() > 0;
  });
  if (kernel == program.kernels.end()) {
    ADD_FAILURE() << print(program);
    return false;
  }
  const Nest& nest = kernel->root;
  const size_t rank = program.graph.stages[nest.stage].domain.output_rank;
  size_t outputs_inside = 0;
  for (size_t l = parallel_depth(nest); l < tile_begin(nest); ++l)
    if (nest.loops[l].axis < rank) ++outputs_inside;
  return outputs_inside > 0 && nest.loops[parallel_depth(nest)].axis == rank;
}

TEST(ReductionPasses, ImagesStayCloseForAllTaps) {
  EXPECT_TRUE(in_passes(weight_gradient(8), 2 << 20));
  EXPECT_FALSE(in_passes(weight_gradient(8), 64 << 20)) << "all of it stays in the cache";
  EXPECT_FALSE(in_passes(weight_gradient(1), 2 << 20)) << "one pass";
  EXPECT_FALSE(in_passes(weight_gradient(8), 128 << 10)) << "an image does not stay either";
}

TEST(ReductionPasses, OnlyWhereTheFirstPassIsKnown) {
  EXPECT_FALSE(in_passes(weight_gradient(8, true), 2 << 20));
  EXPECT_FALSE(in_passes(weight_gradient(8, false, "max=!"), 2 << 20)) << "no sum of products";
}

TEST(ReductionPasses, AreADecision) {
  for (const bool transposed : {true, false}) {
    Answers answers{{{Decision::TransposeOutput, "w"}, transposed ? size_t{0} : size_t{1}}};
    EXPECT_TRUE(in_passes(weight_gradient(8), 2 << 20, answers));
    const std::string name = transposed ? "w_transposed" : "w";
    answers.insert({{Decision::OuterReduction, name}, 1});
    answers.insert({{Decision::StripMine, name}, 1});
    EXPECT_FALSE(in_passes(weight_gradient(8), 2 << 20, answers));
  }
}

// The order of a convolution's loops outside tiles of four channels and lanes along an axis, with
// strips where they pay; by axes.
std::string strips(const Graph& graph, int64_t l1_bytes, size_t lanes_axis = 2,
                   Answers answers = {}) {
  CpuMachine machine{1, 512};
  machine.fma_bits = 1024;
  machine.l1_bytes = l1_bytes;
  Program program = initial_program(graph, CpuMachine{1, 512});
  program = unroll(vectorize(std::move(program), 0, lanes_axis, 16), 0, 0, 4);
  Choices choices(std::move(answers));
  program = sum_in_strips(std::move(program), 0, machine, choices);
  expect_faithful(program, graph);
  const Nest& nest = nest_of(program, 0);
  std::string order;
  for (size_t l = 0; l < tile_begin(nest); ++l)
    order += axis_names(graph.stages[0])[nest.loops[l].axis] +
             (nest.loops[l].step > 1 ? "/" + std::to_string(nest.loops[l].step) : "") + " ";
  return order;
}

Graph filters(const std::string& condition = "") {
  return parse_graph(
      "def f(float(64, 8, 18) x, float(8, 64, 3, 3) w) -> (y) { y(i, j, k) +=! x(r_c, j + r_p, k + "
      "r_q) * w(i, r_c, r_p, r_q) where i in 0:8, j in 0:6, k in 0:16, r_c in 0:64, r_p in 0:3, "
      "r_q in 0:3" +
      condition + " }");
}

TEST(ReductionStrips, ChannelsThatStayInTheFirstCacheForAllRows) {
  EXPECT_EQ(strips(filters(), 1 << 20), "i/4 j r_l r_m r_n ") << "all of it is near";
  EXPECT_EQ(strips(filters(), 16 << 10), "r_l/16 i/4 j r_l r_m r_n ");
  EXPECT_EQ(strips(filters(), 16 << 10, 2, {{{Decision::StripMine, "y"}, 1}}),
            "i/4 j r_l r_m r_n ");
}

TEST(ReductionStrips, OnlyWhereTheFirstOneIsKnown) {
  EXPECT_EQ(strips(filters(", r_c >= j"), 16 << 10), "i/4 j r_l r_m r_n ");
}

// The gradient of 3 x 3 weights, with lanes along their output channels.
Graph weights(const std::string& results) {
  return parse_graph("def f(float(28, 28, 16) d, float(8, 30, 30) x) -> (w) { w(" + results +
                     ") +=! d(r_y, r_x, o) * x(c, r_y + p, r_x + q) where " +
                     (results == "c, p, q, o" ? "c in 0:8, p in 0:3, q in 0:3, o in 0:16"
                                              : "c in 0:8, o in 0:16, p in 0:3, q in 0:3") +
                     ", r_y in 0:28, r_x in 0:28 }");
}

TEST(ReductionStrips, NotWherePartialResultsLieApart) {
  EXPECT_EQ(strips(weights("c, p, q, o"), 8 << 10, 3), "i/4 r_m/2 j k r_m r_n ");
  EXPECT_EQ(strips(weights("c, o, p, q"), 8 << 10, 1), "i/4 k l r_m r_n ");
}

}  // namespace
}  // namespace adjit::sched
