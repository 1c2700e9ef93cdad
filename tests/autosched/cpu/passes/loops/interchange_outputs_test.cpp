// tests/autosched/cpu/passes/loops/interchange_outputs_test.cpp -- the order in which tiles of
// results are computed.
#include "autosched/cpu/passes/loops/interchange_outputs.hpp"

#include "autosched/analysis/traffic.hpp"
#include "autosched/lower/initial_program.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// A 1 x 1 convolution of two images of so many rows and columns, 64 channels to 96.
Graph convolution(int64_t side, const std::string& sum = "+=!") {
  const std::string n = std::to_string(side), shape = ", " + n + ", " + n;
  return parse_graph("def f(float(2, 64" + shape + ") x, float(96, 64) w) -> (y) { y(i, j, k, l) " +
                     sum + " x(i, r, k, l) * w(j, r) where i in 0:2, j in 0:96, k in 0:" + n +
                     ", l in 0:" + n + ", r in 0:64 }");
}

// Its loops over results outside a tile of 6 channels and 32 columns, before and after.
struct Orders {
  std::string before, after;
};

Orders orders_of(const Graph& graph, Choices choices = {}, CpuMachine machine = {}) {
  Program program = initial_program(graph, machine);
  const Stage& s = graph.stages.front();
  program = vectorize(std::move(program), 0, s.domain.output_rank - 1, 16);
  if (s.domain.output_rank > 3) program = unroll(std::move(program), 0, 1, 6);
  const auto order = [&] {
    const Nest& nest = nest_of(program, 0);
    std::string axes;
    for (size_t l = 0; l < tile_begin(nest) && nest.loops[l].axis < s.domain.output_rank; ++l)
      axes += axis_names(s)[nest.loops[l].axis];
    return axes;
  };
  const std::string before = order();
  program = order_results(std::move(program), 0, machine, choices).program;
  return {before, order()};
}

TEST(ResultOrder, ChannelsGoInsideTheRowsOfLargeImages) {
  const Orders large = orders_of(convolution(224));
  EXPECT_EQ(large.before, "ijkl");
  EXPECT_GT(large.after.find('j'), large.after.find('k')) << large.after;
  const Orders small = orders_of(convolution(28));
  EXPECT_EQ(small.after, small.before) << "an image stays in L2";
}

TEST(ResultOrder, ImagesGoInsideTheChannelsOfLargeWeights) {
  const Orders orders = orders_of(
      parse_graph("def f(float(3, 1024, 2, 16) x, float(2048, 1024) w) -> (y) { y(i, j, k, l) +=! "
                  "x(i, r, k, l) "
                  "* w(j, r) where i in 0:3, j in 0:2048, k in 0:2, l in 0:16, r in 0:1024 }"));
  EXPECT_EQ(orders.before, "ijk");
  EXPECT_EQ(orders.after.find('j'), 0u) << orders.after << ": 8 MB would pass for every image";
}

TEST(ResultOrder, OnlyOfSumsOfProductsWithThreeLoops) {
  const Orders maximum = orders_of(convolution(224, "max=!"));
  EXPECT_EQ(maximum.after, maximum.before);
  const Orders product = orders_of(matmul_graph(4096, 4096, 4096));
  EXPECT_EQ(product.after, product.before) << "rows and lanes have their own order";
}

TEST(ResultOrder, IsADecision) {
  const Orders kept = orders_of(convolution(224), Choices({{{Decision::Order, "y"}, 1}}));
  EXPECT_EQ(kept.after, kept.before);
}

// What a 1 x 1 convolution of 2 images of 224 x 224 brings from beyond L2: once for
// every tile of channels, or once.
TEST(ResultOrder, OneCoreWaitsForTheThirdCache) {
  const CpuMachine machine;
  Program program = initial_program(convolution(224), CpuMachine{1, 512});
  program = vectorize(std::move(program), 0, 3, 16);
  program = unroll(std::move(program), 0, 1, 6);
  const auto l3 = [&] {
    const auto nests = placed_nests(program, program.kernels.front());
    return cache_cycles(traffic(nests, machine, 1e9).front(), machine).l3;
  };
  const double before = l3();
  Choices choices;
  OrderedResults ordered = order_results(std::move(program), 0, machine, choices);
  EXPECT_TRUE(ordered.moved);
  program = std::move(ordered.program);
  EXPECT_GT(before, 4 * l3());
}

// The default schedule does not move them again: of rows and lanes that came to lie next to each
// other only so, the lanes would go outside.
TEST(ResultOrder, IsTheLastOne) {
  const Graph g = parse_graph(
      "def f(float(4, 256, 28) x, float(28, 16, 512) w) -> (y) { y(a, b, c, d) +=! x(a, b, r) * "
      "w(r, c, d) where a in 0:4, b in 0:256, c in 0:16, d in 0:512, r in 0:28 }");
  const Program program = default_schedule(g, CpuMachine{.cores = 2});
  const std::string& moves = program.moves_json;
  size_t orders = 0;
  for (size_t at = moves.find("reorder"); at != std::string::npos;
       at = moves.find("reorder", at + 1))
    ++orders;
  EXPECT_EQ(orders, 1u) << print(program);
}

}  // namespace
}  // namespace adjit::sched
