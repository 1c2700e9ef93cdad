#include "autosched/lower/guard_reads.hpp"

#include "autosched/program/required_region.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// The predicate of the only read of a tensor in a graph's last stage; invalid when it has none.
ExprId predicate_of(const Graph& g, TensorId tensor) {
  for (ExprId id : reads_of(g, g.stages.back()))
    if (g.pool.read_tensor(id) == tensor) return g.pool.read_predicate(id);
  ADD_FAILURE() << "not read";
  return {};
}

TEST(GuardReads, ReadsInBoundsStayAsTheyAre) {
  for (const Graph& g : {matmul_graph(3, 4, 5), softmax_graph(3, 4), conv_graph(1, 2, 5, 5, 2),
                         conv_graph(1, 2, 5, 5, 2, 1, true)}) {
    const Graph guarded = guard_reads(LoweredGraph(g));
    for (size_t s = 0; s < g.stages.size(); ++s)
      EXPECT_EQ(guarded.stages[s].bodies, g.stages[s].bodies);
  }
}

TEST(GuardReads, AnArmOfASelectGetsTheMissingSideOnly) {
  Builder b;
  ExprPool& p = b.graph.pool;
  const TensorId x = b.input("x", {8});
  const ExprId before = p.sub(b.axis(0), b.integer(1));
  const ExprId inside = p.make(Op::Lt, {b.integer(0), b.axis(0)});
  b.output(b.stage("y", {8}, 1, CombinerKind::None,
                   p.select(inside, b.at(x, {before}), p.constant_float(2, DType::Float32))));
  LoweredGraph g = guard_reads(LoweredGraph(b.graph));
  EXPECT_EQ(predicate_of(g, x), g.pool.make(Op::Le, {g.pool.constant_int(0), before}));
  EXPECT_EQ(guard_reads(g).stages[0].bodies, g.stages[0].bodies);  // nothing left to do
  const std::vector<Array> inputs = some_inputs(b.graph);
  expect_close(interpret(b.graph, inputs), interpret(g, inputs));
}

TEST(GuardReads, DataNeverLeadsOutside) {
  Builder b;
  const TensorId x = b.input("x", {3});
  const TensorId where = add_input(b.graph, "where", DType::Int64, {4});
  b.output(b.stage("y", {4}, 1, CombinerKind::None, b.at(x, {b.at(where, {b.axis(0)})})));
  const Graph g = guard_reads(LoweredGraph(b.graph));
  const ExprId predicate = predicate_of(g, x);
  ASSERT_TRUE(predicate.valid());
  const std::vector<double> values{1, 2, 4}, places{2, -1, 3, 0};
  const std::vector<Array> inputs{Array::of(DType::Float32, {3}, values),
                                  Array::of(DType::Int64, {4}, places)};
  const Array y = interpret(g, inputs)[0];
  for (const auto& [i, expected] : {std::pair{0, 4.0}, {1, 0.0}, {2, 0.0}, {3, 1.0}})
    EXPECT_EQ(y.at(i), expected);
}

TEST(GuardReads, WhatMinAndMaxKeepInsideStaysAsItIs) {
  for (const auto& [index, inside] : {std::pair{"max(min(I(i), 2), 0)", true},
                                      {"max(min(I(i), 3), 0)", false},
                                      {"min(I(i), 2)", false},
                                      {"I(i) % 3", true}}) {
    const LoweredGraph g(parse_graph("def f(float(3) x, int64(9) I) -> (y) { y(i) = x(" +
                                     std::string(index) + ") }"));
    const Graph guarded = guard_reads(g);
    EXPECT_EQ(guarded.stages[0].bodies == g.stages[0].bodies, inside) << index;
  }
}

}  // namespace
}  // namespace adjit::sched
