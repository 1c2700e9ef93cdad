// tests/runtime/diff/simplify/known_sums_test.cpp -- which sums a graph computes.
#include "runtime/diff/simplify/known_sums.hpp"

#include <gtest/gtest.h>

#include "runtime/diff/rewrite/factors.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// The stage that has the sum of what the last stage sums, or -1.
int known_for_last(const char* text) {
  Graph g = parse_graph(text);
  const Stage last = g.stages.back();
  g.stages.pop_back();
  const diff::KnownSums known(g);
  const auto product = diff::factors_of(g.pool, last.bodies[0]);
  const diff::KnownSum* found = known.find(g.pool, product.factors.front().expr, last.domain);
  return found ? static_cast<int>(found->stage) : -1;
}

TEST(KnownSums, AreOverTheSameBoxOfTheSameElements) {
  EXPECT_EQ(known_for_last(R"(def f(double(8, 5) x) -> (a, b, s) {
    a(i) +=! x(i, r)
    b(j, k) +=! -x(r, j) where j in 0:5, k in 0:3, r in 0:8
    s(k, j) +=! x(r, j) where k in 0:2, j in 0:5, r in 0:8
  })"),
            1);
  EXPECT_EQ(known_for_last(R"(def f(double(8, 5) x) -> (a, b, c, d, s) {
    a(j) +=! x(r, j) where j in 0:5, r in 0:7
    b(j) +=! x(r, j) where j in 0:5, r in 0:8, r <= j
    c(j) +=! x(r, j) * 2.0
    d() +=! x(r, q)
    s(j) +=! x(r, j)
  })"),
            -1);
}

TEST(KnownSums, UseAllAxesOfTheReduction) {
  EXPECT_EQ(known_for_last(R"(def f(double(8, 5) x) -> (a, s) {
    a(j) +=! x(r, j)
    s(j) +=! x(r, j) where j in 0:5, r in 0:8, q in 0:3
  })"),
            -1);
}

}  // namespace
}  // namespace adjit::testing
