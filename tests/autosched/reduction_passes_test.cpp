// tests/autosched/reduction_passes_test.cpp -- outer steps of a reduction outside all results.
#include "autosched/reduction_passes.hpp"

#include "autosched/heuristic.hpp"
#include "autosched/nests.hpp"
#include "runtime/graph/text.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit {
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
  Target target{2, 512};
  target.fma_bits = 1024;
  target.l2_bytes = l2_bytes;
  Choices choices(std::move(answers));
  const Program program = schedule_with(graph, target, choices);
  const Nest& nest = program.kernels.back().root;
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
  EXPECT_FALSE(in_passes(weight_gradient(8), 2 << 20, {{{Decision::Passes, "w"}, 1}}));
}

}  // namespace
}  // namespace adjit
