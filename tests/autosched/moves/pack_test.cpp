// tests/autosched/moves/pack_test.cpp -- operands copied into other layouts.
#include <gtest/gtest.h>

#include "autosched/program/required_region.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// x(i, k) * x(j, k): each of the two in its own layout.
TEST(Pack, OneReadOfSeveralMayHaveItsOwnCopy) {
  const Graph g = parse_graph("def f(float(6, 9) x) -> (y) { y(i, j) +=! x(i, k) * x(j, k) }");
  const TensorId x = g.inputs[0];
  const std::vector<ExprId> reads = reads_of(g, g.stages[0]);
  ASSERT_EQ(reads.size(), 2u);
  Packing packing{{{0, 4, 0}, {1, 1, 0}, {0, 1, 4}}, {}, {}};
  for (ExprId read : reads) {
    packing.read = read_number(g, g.stages[0], read);
    const Program p = pack(plain(g), 0, x, packing);
    EXPECT_EQ(p.readers[x.value], (std::vector<size_t>{0, 1})) << "the copy and the sum";
    EXPECT_EQ(reads_of(p.graph, p.graph.stages[1]).size(), 2u);
    expect_faithful(p, g);
    packing.read = 0;  // of x, there is one read left
    expect_faithful(pack(p, 1, x, packing), g);
    packing.read = 1;
    expect_refused([&] { pack(p, 1, x, packing); }, "as often");
    const Program again = replay(g, p.moves_json, CpuMachine{1, 256});
    EXPECT_EQ(print(again), print(p));
  }
}

// The weights' copy goes before that of the images, which chains with the sum then.
TEST(Pack, SmallCopiesGoBeforeMuchLargerOnes) {
  const Graph g = conv_graph(2, 3, 12, 5, 2);
  const auto copied = [&](size_t first, size_t second) {
    Packing image{{{0, 1, 0}, {2, 1, 0}, {1, 1, 0}, {3, 1, 0}}, {}, {}},
        weights{{{1, 1, 0}, {2, 1, 0}, {3, 1, 0}, {0, 1, 0}}, {}, {}};
    Program p = plain(g);
    for (size_t operand : {first, second}) {
      const size_t sum = p.graph.stages.size() - 1;
      p = pack(std::move(p), sum, g.inputs[operand], operand == 0 ? image : weights);
    }
    expect_faithful(p, g);
    EXPECT_EQ(print(replay(g, p.moves_json, CpuMachine{1, 256})), print(p));
    std::vector<std::string> order;
    for (const Stage& stage : p.graph.stages) order.push_back(stage_name(p.graph, stage));
    return order;
  };
  const std::string image = g.tensors[g.inputs[0].value].name + "_packed",
                    weights = g.tensors[g.inputs[1].value].name + "_packed";
  EXPECT_EQ(copied(0, 1)[0], weights);
  EXPECT_EQ(copied(0, 1)[1], image);
  EXPECT_EQ(copied(1, 0)[0], weights);
}

TEST(Pack, ZerosTakeThePlaceOfPredicates) {
  const Graph g = conv_graph(1, 2, 4, 5, 2);
  const Packing packing{
      {{0, 1, 0}, {1, 1, 0}, {2, 1, 0}, {3, 1, 0}}, {0, 0, 1, 1}, {0, 0, 1, 1}, false};
  const Program p = pack(plain(g), 0, g.inputs[0], packing);
  for (ExprId id : reachable(p.graph.pool, p.graph.stages[1].bodies))
    if (p.graph.pool.is(id, Op::Read)) {
      EXPECT_FALSE(p.graph.pool.read_predicate(id).valid());
    }
  expect_faithful(p, g);
}

TEST(Pack, ZerosTakeThePlaceOfRows) {
  for (int64_t stride : {1, 2}) {
    const Graph g = conv_graph(1, 2, 4, 5, 2, stride, true);
    ExprId x;
    for (ExprId id : reads_of(g, g.stages[0]))
      if (g.pool.read_tensor(id) == g.inputs[0]) x = id;
    const Packing packing = *zeros_around(g, g.stages[0], x);
    EXPECT_EQ(packing.padding_before, (std::vector<int64_t>{0, 0, 1, 1}));
    const Program p = pack(plain(g), 0, g.pool.read_tensor(x), packing);
    EXPECT_TRUE(p.graph.stages[1].domain.is_box());
    expect_faithful(p, g);
  }
  const Graph soft = softmax_graph(3, 7);
  Packing packing{{{0, 1, 0}, {1, 1, 0}}, {}, {}, true};
  expect_refused([&] { pack(plain(soft), 0, soft.inputs[0], packing); }, "as a factor");
}

// t is computed in the loops of y, for z as well: a copy of it can only stand behind y.
TEST(Pack, OperandsComputedInLoopsAreCopiedBehindThem) {
  const Graph g = parse_graph(
      "def f(float(12, 9) x) -> (y, z) {\n t(i, j) = exp(x(i, j))\n y(i, j) = t(i, j) * 2.0\n"
      " z(i, j) = t(i, j) + 1.0\n}");
  const Program p = compute_at(plain(g), 0, 1, 1);
  const TensorId t = g.stages[0].results[0];
  ASSERT_EQ(p.scopes[t.value], Scope::Workspace);
  const Packing transposed{{{1, 1, 0}, {0, 1, 0}}, {}, {}};
  expect_refused([&] { pack(p, 1, t, transposed); }, "in the loops of a kernel that is not done");
  const Program copied = pack(p, 2, t, transposed);
  EXPECT_EQ(stage_name(copied.graph, copied.graph.stages[2]), "t_packed");
  expect_faithful(copied, g);
}

}  // namespace
}  // namespace adjit::sched
