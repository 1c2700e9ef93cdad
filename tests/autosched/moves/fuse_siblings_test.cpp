// tests/autosched/moves/fuse_siblings_test.cpp -- one pass for several stages over the same points.
#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

using Siblings = std::vector<size_t>;

TEST(FuseSiblings, IndependentStagesShareOnePass) {
  Builder b;
  ExprPool& pool = b.graph.pool;
  const TensorId x = b.input("x", {4, 5});
  const auto ij = [&](TensorId t) { return b.at(t, {b.axis(0), b.axis(1)}); };
  const TensorId u = b.stage("u", {4, 5}, 2, CombinerKind::None, pool.make(Op::Exp, {ij(x)}));
  const TensorId s = b.stage("s", {4, 5}, 1, CombinerKind::Sum, ij(u));
  const TensorId v = b.stage("v", {4, 5}, 2, CombinerKind::None, pool.neg(ij(x)));
  const TensorId w =
      b.stage("w", {4, 5}, 2, CombinerKind::None, pool.mul(ij(u), b.at(s, {b.axis(0)})));
  for (TensorId t : {u, v, w}) b.output(t);
  const Program p = fuse_siblings(plain(b.graph), Siblings{0, 2});
  EXPECT_EQ(p.kernels.size(), 3u);
  expect_faithful(p, b.graph);
  expect_refused([&] { fuse_siblings(plain(b.graph), Siblings{0, 3}); }, "depends on another");
  expect_refused([&] { fuse_siblings(plain(b.graph), Siblings{0, 1}); }, "combiners differ");
}

TEST(FuseSiblings, ReductionsOverOneDomainShareOnePass) {
  const Graph graph = parse_graph(
      "def main(float(6, 40) x, float(6, 40) y) -> (a, b, c, d, e) {\n"
      "  a(i) +=! x(i, r_k) * y(i, r_k)\n"
      "  b(i) +=! x(i, r_k)\n"
      "  c(i) +=! x(i, r_k) * a(i) where i in 0:6, r_k in 0:40\n"
      "  (d, e)(i) argmax=! (x(i, r_k), r_k)\n}");
  const Program p = fuse_siblings(plain(graph), Siblings{0, 1});
  EXPECT_EQ(p.kernels.size(), 3u);
  expect_faithful(p, graph);
  expect_faithful(rfactor(p, 0, 1, 4), graph);
  expect_faithful(unroll(vectorize(p, 0, 1, 8), 0, 0, 2), graph);
  expect_faithful(vectorize(p, 0, 0, 4), graph);
  expect_refused([&] { fuse_siblings(plain(graph), Siblings{0, 2}); }, "depends on another");
  expect_refused([&] { fuse_siblings(plain(graph), Siblings{1, 3}); }, "each by itself");
}

}  // namespace
}  // namespace adjit::sched
