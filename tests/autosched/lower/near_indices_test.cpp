#include "autosched/lower/near_indices.hpp"

#include "autosched/analysis/access.hpp"
#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

Graph graph_of(const std::string& statement) {
  return graph::parse_graph("def f(float(8) x, float(4, 8) z) -> (y) { " + statement + " }");
}

TEST(NearIndices, IndicesOfNoAddressAreBroughtToTheTensor) {
  for (const char* statement : {
           "y(i) = select(i < 1, x(i * 1152921504606846976), 2) where i in 0:4",
           "y(i) = x(i * 4611686018427387904 where i < 1) where i in 0:2",
           "y(i) = x(i + 9223372036854775000 where i < 0) where i in 0:4",
           "y(i, j) = select(i < 1, z(i * 288230376151711744, j), 2) where i in 0:4, j in 0:8",
           "y(i) +=! x(k * 4611686018427387904 + i) where i in 0:8, k in 0:1",
           "y(i) = x(int64(z(0, i * 2305843009213693952 where i < 1)) * 0) where i in 0:3",
           "scatter float(8) y(i * 1152921504606846976 + 3) +=![drop] x(i) where i in 0:8",
           "scatter float(8) y(i * 1152921504606846976 - 1) +=![drop] x(i) where i in 0:8",
           "scatter float(8) y(3 - i * 1152921504606846976) +=![clip] x(i) where i in 0:8",
           "scatter float(7) y(i * 1152921504606846976) +=![wrap] x(i) where i in 0:7",
       }) {
    const LoweredGraph g(graph_of(statement));
    const LoweredGraph near = near_indices(g);
    const Stage &before = g.stages[0], &after = near.stages[0];
    EXPECT_TRUE(before.bodies != after.bodies || before.target != after.target) << statement;
    EXPECT_NO_THROW((void)accesses_of(near, after)) << statement;
    const std::vector<Array> inputs = some_inputs(g);
    expect_close(interpret(g, inputs), interpret(near, inputs));
  }
}

TEST(NearIndices, ConstraintsAreBroughtToWhatLoopsCount) {
  for (const char* where : {"1 <= i + 4611686018427387908 * j", "i + 4611686018427387908 * j == 0",
                            "4611686018427387908 * j <= i + 4611686018427387900"}) {
    const LoweredGraph g(
        graph_of("y() +=! z(i, j) where i in 0:4, j in 0:2, " + std::string(where)));
    const Domain domain = near_indices(g).stages[0].domain;
    EXPECT_FALSE(domain.is_box());
    for (const auto* constraints : {&domain.inequalities, &domain.equalities})
      for (const Affine& form : *constraints) EXPECT_LT(std::abs(form.coefficient(1)), 10) << where;
    const std::vector<Array> inputs = some_inputs(g);
    expect_close(interpret(g, inputs), interpret(near_indices(g), inputs));
  }
}

// Such constraints come from derivatives, not from text: 2^55 i has more than 64 bits at i = 1,023.
TEST(NearIndices, ConstraintsThatLeave64BitsTogether) {
  LoweredGraph g(graph::parse_graph("def f(float(1024, 3) x) -> (y) { y() +=! x(i, j) }"));
  const int64_t scale = int64_t{1} << 55;
  g.stages[0].domain.inequalities.push_back(Affine::variable(0, scale) +
                                            Affine::variable(1, -1, -100 * scale));
  const Domain domain = near_indices(g).stages[0].domain;
  ASSERT_EQ(domain.inequalities.size(), 1u);
  EXPECT_LT(domain.inequalities[0].coefficient(0), 10);
  const std::vector<Array> inputs = some_inputs(g);
  expect_close(interpret(g, inputs), interpret(near_indices(g), inputs));
  g.stages[0].domain.inequalities.push_back(Affine::variable(0, scale) +
                                            Affine::variable(1, -scale + 1, 3));
  EXPECT_THROW((void)near_indices(g), Overflow);
}

TEST(NearIndices, OthersStay) {
  for (const char* statement : {
           "y(i) = x(i)",
           "y(i) = select(1 <= i, x(i - 1), 0) where i in 0:8",
           "y(i) = x(i * 1000000 where i < 1) where i in 0:8",
           "y(i, j) = z(3 - i, j) where i in 0:4, j in 0:8",
           "scatter float(8) y(i * 1000 - 3) +=![drop] x(i) where i in 0:8",
       }) {
    const LoweredGraph g(graph_of(statement));
    const Graph near = near_indices(g);
    EXPECT_EQ(g.stages[0].bodies, near.stages[0].bodies) << statement;
    EXPECT_EQ(g.stages[0].target, near.stages[0].target) << statement;
  }
}

// Of k * 3 + (2^63 - 1), which wraps, one point is left, where it is a number.
TEST(NearIndices, SubstitutionsThatMakeAnIndexAffine) {
  const Graph g = graph_of(
      "t(i, k) = z(k * 3 + 9223372036854775807, i where k < 0) where i in 0:8, k in 0:3 "
      "y(i) = t(i, 0)");
  const std::vector<size_t> first{0};
  const Program inlined = inline_stages(initial_program(g, CpuMachine{1, 256}), first);
  EXPECT_NO_THROW((void)accesses_of(inlined.graph, inlined.graph.stages[0]));
  const std::vector<Array> inputs = some_inputs(g);
  expect_close(interpret(g, inputs), interpret(inlined.graph, inputs));
}

}  // namespace
}  // namespace adjit::sched
