// tests/runtime/diff/rewrite/unconditional_reads_test.cpp -- what no condition protects.
#include "runtime/diff/rewrite/unconditional_reads.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using Names = std::vector<std::string>;

Names names_in(const std::string& body) {
  const Graph graph = parse_graph(
      "def f(float(4) x, float(4) z, bool(4) p, bool(4) q) -> (y) { "
      "y(i) = " +
      body + " where i in 0:4 }");
  Names names;
  for (ExprId read : unconditional_reads(graph.pool, graph.stages[0].bodies))
    names.push_back(graph.info(graph.pool.read_tensor(read)).name);
  std::ranges::sort(names);
  return names;
}

TEST(UnconditionalReads, BranchesAreConditional) {
  EXPECT_EQ(names_in("x(i) * z(i)"), (Names{"x", "z"}));
  EXPECT_EQ(names_in("select(p(i), x(i), z(i))"), Names{"p"});
  EXPECT_EQ(names_in("x(i) + select(x(i) < 0, z(i), 1)"), Names{"x"});
}

TEST(UnconditionalReads, AConjunctionMayEndAtItsFirstCondition) {
  EXPECT_EQ(names_in("select(p(i) && q(i), x(0), 0)"), Names{"p"});
  EXPECT_EQ(names_in("select(p(i) || q(i), x(0), 0) * z(i)"), (Names{"p", "z"}));
}

}  // namespace
}  // namespace adjit::testing
