// tests/autosched/cpu/passes/fuse_epilogue_test.cpp -- which stages run as a product's epilogue,
// and that both still mean the same.
#include "autosched/cpu/passes/fuse_epilogue.hpp"

#include "autosched/analysis/verify.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

std::string layer(int64_t m, int64_t k, int64_t n, const std::string& made,
                  bool lanes_last = true) {
  return "def main(float(" + std::to_string(m) + ", " + std::to_string(k) + ") x, float(" +
         std::to_string(k) + ", " + std::to_string(n) + ") w, float(" + std::to_string(n) +
         ") b) -> (y) {\n  p(i, j) +=! x(i, r) * w(r, j)\n  " +
         (lanes_last ? "y(i, j) = " : "y(j, i) = ") + made + "\n}";
}

// Whether p is computed in y's kernel.
bool is_epilogue(const Program& program) {
  const std::optional<NestPath> product = find_nest(program, stage_of(program, "p"));
  const std::optional<NestPath> reader = find_nest(program, stage_of(program, "y"));
  return product && reader && product->kernel == reader->kernel && !product->steps.empty();
}

Program scheduled(const std::string& text, const CpuMachine& machine = kTwoCores) {
  const Graph graph = parse_graph(text);
  Program program = default_schedule(graph, machine);
  verify(program);
  EXPECT_EQ(print(replay(graph, program.moves_json, program.target)), print(program));
  return program;
}

TEST(Epilogue, TakesTheProductTileByTile) {
  const Program p = scheduled(layer(300, 24, 200, "max(p(i, j) + b(j), 0.0)"));
  ASSERT_TRUE(is_epilogue(p)) << print(p);
  const size_t s = stage_of(p, "p");
  EXPECT_EQ(p.scopes[p.graph.stages[s].results[0].value], Scope::Local);
  const Nest& nest = nest_of(p, s);
  EXPECT_LT(tile_begin(nest), nest.loops.size()) << "the product keeps its register tile";
  EXPECT_LE(nest.spans[0], 32);
  const Nest& host = nest_of(p, stage_of(p, "y"));
  EXPECT_EQ(parallel_depth(host), 1u);
  EXPECT_EQ(host.loops[1].axis, 0u) << "along the rows";
}

// Results too few to be worth it run alike: the product's own size decides, so it is made small.
TEST(Epilogue, MeansWhatTheGraphMeans) {
  for (const auto& [m, k, n] :
       {std::tuple{130, 3, 129}, std::tuple{257, 5, 64}, std::tuple{128, 2, 131}}) {
    const std::string text = layer(m, k, n, "p(i, j) * 2.0 + b(j)");
    for (const CpuMachine& machine : {kTwoCores, CpuMachine{2, 256}, CpuMachine{1, 128}}) {
      const Program p = scheduled(text, machine);
      EXPECT_TRUE(is_epilogue(p)) << print(p);
      expect_faithful(p, parse_graph(text));
    }
  }
}

TEST(Epilogue, OfBatchesOfProducts) {
  const std::string text =
      "def main(float(3, 90, 4) x, float(3, 4, 70) w, float(3, 90, 70) c) -> (y) {\n"
      "  p(h, i, j) +=! x(h, i, r) * w(h, r, j)\n  y(h, i, j) = p(h, i, j) + c(h, i, j)\n}";
  const Program p = scheduled(text);
  EXPECT_TRUE(is_epilogue(p)) << print(p);
  expect_faithful(p, parse_graph(text));
}

// A convolution of one channel, whose axis of one point is read at 0.
TEST(Epilogue, OfConvolutions) {
  const auto text = [](int64_t taps) {
    const std::string n = std::to_string(taps);
    return "def main(float(2, 90, 140) x, float(" + n + ", " + n + ") w, float s) -> (y) {\n" +
           "  p(i, j, k, l) +=! x(i, k + r, l + t) * w(r, t) where i in 0:2, j in 0:1, k in 0:80, "
           "l "
           "in 0:130, r in 0:" +
           n + ", t in 0:" + n + "\n" +
           "  y(i, j, k, l) = p(i, 0, k, l) * s() where i in 0:2, j in 0:1, k in 0:80, l in "
           "0:130\n}";
  };
  const Program p = scheduled(text(3));
  EXPECT_TRUE(is_epilogue(p)) << print(p);
  expect_faithful(p, parse_graph(text(3)));
  EXPECT_TRUE(is_epilogue(scheduled(text(9))));
  EXPECT_FALSE(is_epilogue(scheduled(text(10)))) << "long sums";
}

TEST(Epilogue, LeavesResultsForOthers) {
  const std::string text =
      "def main(float(140, 4) x, float(4, 130) w) -> (y, z) {\n"
      "  p(i, j) +=! x(i, r) * w(r, j)\n  y(i, j) = p(i, j) + 1.0\n  z(i) max=! p(i, r)\n}";
  const Program p = scheduled(text);
  EXPECT_TRUE(is_epilogue(p)) << print(p);
  EXPECT_EQ(p.scopes[p.graph.stages[stage_of(p, "p")].results[0].value], Scope::Workspace);
  expect_faithful(p, parse_graph(text));
}

TEST(Epilogue, NotWhereItGainsNothing) {
  const char* const light = "p(i, j) + b(j)";
  EXPECT_TRUE(is_epilogue(scheduled(layer(300, 64, 200, light))));
  EXPECT_FALSE(is_epilogue(scheduled(layer(300, 65, 200, light)))) << "long sums";
  EXPECT_FALSE(is_epilogue(scheduled(layer(60, 24, 60, light)))) << "few results";
  EXPECT_FALSE(is_epilogue(scheduled(layer(300, 24, 200, "tanh(exp(p(i, j)))")))) << "functions";
  EXPECT_FALSE(is_epilogue(scheduled(layer(300, 24, 200, light, false)))) << "transposed";
  EXPECT_FALSE(is_epilogue(scheduled(layer(40, 64, 16000, light)))) << "a panel leaves the cache";
}

TEST(Epilogue, IsADecision) {
  const Graph graph = parse_graph(layer(300, 24, 200, "p(i, j) + b(j)"));
  Choices other({{{Decision::Epilogue, "p"}, 1}});
  EXPECT_FALSE(is_epilogue(schedule_with(graph, kTwoCores, other)));
}

}  // namespace
}  // namespace adjit::sched
