// tests/autosched/moves/rfactor_test.cpp -- partial results over parts of a reduction.
#include <gtest/gtest.h>

#include "autosched/program/winners.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(RfactorMove, PartsMayBeEvenOrRagged) {
  const Graph g = matmul_graph(4, 5, 12);
  for (int64_t parts : {2, 3, 5, 12}) {
    const Program p = rfactor(plain(g), 0, 2, parts);
    ASSERT_EQ(p.graph.stages.size(), 2u);
    EXPECT_EQ(stage_name(p.graph, p.graph.stages[1]), "C");
    expect_faithful(p, g);
  }
  const Graph soft = softmax_graph(3, 7);
  expect_faithful(rfactor(plain(soft), 0, 1, 3), soft);
  expect_refused([&] { rfactor(plain(g), 0, 1, 2); }, "not a reduction axis");
  expect_refused([&] { rfactor(plain(g), 0, 2, 13); }, "2 parts");
  expect_refused([&] { rfactor(plain(soft), 1, 1, 2); }, "no partial results");
}
// Of equal values that of the first part, and of the part its first.
TEST(RfactorMove, WinnersOfParts) {
  const auto winners = [](const std::string& place, const std::string& where = "") {
    return parse_graph("def f(float(3, 20, 2) x) -> (v, k) {\n (v, k)(i) argmin=! (x(i, a, b), " +
                       place + ") where i in 0:3, a in 0:20, b in 0:2" + where + "\n}");
  };
  const Graph g = winners("int32(2 * a + b)");
  for (const int64_t parts : {2, 3, 20}) {
    const Program p = rfactor(plain(g), 0, 1, parts);
    ASSERT_EQ(p.graph.stages.size(), 3u);
    EXPECT_EQ(stage_name(p.graph, p.graph.stages[2]), "v");
    EXPECT_TRUE(tells_order(p.graph, p.graph.stages[1]));
    expect_faithful(p, g);
  }
  expect_refused([&] { rfactor(plain(g), 0, 2, 2); }, "no partial results");
  expect_refused([&] { rfactor(plain(winners("a")), 0, 1, 2); }, "no partial results");
  expect_refused([&] { rfactor(plain(winners("2 * a + b", ", b <= a")), 0, 1, 2); },
                 "no partial results");
}
TEST(RfactorMove, PanelsOfTheSecondOperand) {
  const Graph g = matmul_graph(4, 10, 6);
  const TensorId b = g.inputs[1];
  const Program p = pack(plain(g), 0, b, {{{1, 4, 0}, {0, 1, 0}, {1, 1, 4}}, {}, {}, false});
  ASSERT_EQ(p.graph.stages.size(), 2u);
  EXPECT_EQ(p.graph.info(p.graph.stages[0].results[0]).shape, (std::vector<int64_t>{3, 6, 4}));
  expect_faithful(p, g);
  expect_refused([&] { pack(plain(g), 0, b, {{{0, 1, 0}}, {}, {}, false}); }, "lost");
  expect_refused([&] { pack(plain(g), 0, b, {{{0, 1, 0}, {1, 4, 0}, {1, 1, 3}}, {}, {}, false}); },
                 "multiply up");
}

}  // namespace
}  // namespace adjit::sched
