// tests/autosched/moves/split_residues_test.cpp -- an output axis taken apart by its residues.
#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// What a pool of width 3 and stride 2 leaves for its adjoint: y[l] = sum over r of x[(l + 1) // 2 -
// r] where that was read.
Graph strided_graph(int64_t extent) {
  Builder b;
  ExprPool& p = b.graph.pool;
  const TensorId x = b.input("x", {3, extent / 2 + 1});
  Domain domain;
  domain.extents = {3, extent, 2};
  domain.output_rank = 2;
  const size_t q = domain.add_division(Affine::variable(1, 1, 1), 2);
  domain.inequalities = {Affine::variable(q) - Affine::variable(2),
                         Affine::variable(q, 2, 1) - Affine::variable(1) - Affine::variable(2, 2)};
  const ExprId at =
      p.sub(p.make(Op::FloorDiv, {p.add(b.axis(1), b.integer(1)), b.integer(2)}), b.axis(2));
  Combiner sum;
  sum.kind = CombinerKind::Sum;
  b.output(add_compute(b.graph, "y", domain, sum, {b.at(x, {b.axis(0), at})})[0]);
  return b.graph;
}

TEST(SplitResidues, DivisionsOfTheAxisDisappear) {
  for (int64_t extent : {8, 9}) {
    const Graph g = strided_graph(extent);
    EXPECT_EQ(residue_modulus(g, g.stages[0], 1), 2);
    EXPECT_EQ(residue_modulus(g, g.stages[0], 0), 1);
    const Program p = split_residues(plain(g), 0, 1, 2);
    ASSERT_EQ(p.graph.stages.size(), 2u);
    EXPECT_EQ(residue_modulus(p.graph, p.graph.stages[0], 2), 1);
    expect_faithful(p, g);
    expect_faithful(split_residues(plain(g), 0, 1, 3), g);
    expect_faithful(split_residues(plain(g), 0, 0, 2), g);
  }
  const Graph g = strided_graph(8);
  expect_refused([&] { split_residues(plain(g), 0, 2, 2); }, "not an output axis");
  expect_refused([&] { split_residues(plain(g), 0, 1, 9); }, "2 residues");
}

TEST(SplitResidues, ReadsAlongTheQuotientHaveNoDivision) {
  const Graph g = strided_graph(8);
  const Program p = split_residues(plain(g), 0, 1, 2);
  // R[i, p, q] and y[i, j] = R[i, j % 2, j // 2]
  EXPECT_EQ(p.graph.stages[0].domain.extents, (std::vector<int64_t>{3, 2, 4, 2}));
  EXPECT_EQ(print_stage(p.graph, p.graph.stages[1]).find("y_residues(i, j % 2, j // 2)"),
            print_stage(p.graph, p.graph.stages[1]).find("y_residues"))
      << print_stage(p.graph, p.graph.stages[1]);
  // R[p, q, j] where the first axis is the one.
  const Program first = split_residues(plain(g), 0, 0, 2);
  EXPECT_EQ(first.graph.stages[0].domain.extents, (std::vector<int64_t>{2, 2, 8, 2}));
}

// Channels behind their group: what is put together lies as it did.
TEST(SplitResidues, InsideTheQuotient) {
  for (int64_t extent : {8, 9}) {
    const Graph g = strided_graph(extent);
    const Program p = split_residues(plain(g), 0, 1, 2, true);
    const int64_t quotients = extent - extent / 2;
    EXPECT_EQ(p.graph.stages[0].domain.extents, (std::vector<int64_t>{3, quotients, 2, 2}));
    EXPECT_NE(print_stage(p.graph, p.graph.stages[1]).find("y_residues(i, j // 2, j % 2)"),
              std::string::npos)
        << print_stage(p.graph, p.graph.stages[1]);
    expect_faithful(p, g);
    EXPECT_EQ(print(replay(g, p.moves_json, p.target)), print(p));
    expect_faithful(split_residues(plain(g), 0, 0, 2, true), g);
  }
}

TEST(SplitResidues, ModuliOfSeveralReadsAreJoined) {
  const Graph g = parse_graph(
      "def f(float(30) x, float(30) z) -> (y) { y(i) +=! x(i // 4 + r) * z(i * 2 // 6) where i in "
      "0:24, r in 0:3 }");
  EXPECT_EQ(residue_modulus(g, g.stages[0], 0), 12);
  expect_faithful(split_residues(plain(g), 0, 0, 12), g);
  const Graph large =
      parse_graph("def f(float(30) x) -> (y) { y(i) = x(i // 5000) where i in 0:20000 }");
  EXPECT_EQ(residue_modulus(large, large.stages[0], 0), 0) << "more than a group";
  const Graph nested =
      parse_graph("def f(float(30) x) -> (y) { y(i) = x((i // 2 + 1) // 3) where i in 0:24 }");
  EXPECT_EQ(residue_modulus(nested, nested.stages[0], 0), 6) << "(i + 2) // 6";
  expect_faithful(split_residues(plain(nested), 0, 0, 6), nested);
  const Graph two =
      parse_graph("def f(float(30) x) -> (y) { y(i) = x((i // 2 + i) // 3) where i in 0:12 }");
  EXPECT_EQ(residue_modulus(two, two.stages[0], 0), 0) << "a division of a division";
}

}  // namespace
}  // namespace adjit::sched
