// tests/runtime/diff/simplify/maxima_of_winners_test.cpp -- maxima that come with their places.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/forwards.hpp"
#include "tests/runtime/diff/gradient_check.hpp"
#include "tests/runtime/diff/table.hpp"

namespace adjit::testing {
namespace {

TEST(MaximaOfWinners, AreResultsOfThese) {
  const Graph g = parse_graph(R"(def f(double(8, 5) x) -> (m, k, n, q) {
    m(i) max=! x(i, r) * 2.0
    n(i) min=! x(i, r)
    (v, k)(i) argmax=! (x(i, r) * 2.0, r)
    (w, l)(i) argmin=! (x(i, r), r)
    q(i) = v(i) + w(i) * double(l(i))
  })");
  const Graph s = maxima_of_winners(g);
  EXPECT_EQ(s.stages.size(), 3u) << print(s);
  EXPECT_TRUE(same_values(g, s));
}

// Stages between them read the place.
TEST(MaximaOfWinners, AreThoseOfEarlierOnes) {
  const Graph g = parse_graph(R"(def f(double(8, 5) x) -> (q, m, n, z) {
    (v, k)(i) argmax=! (x(i, r), r)
    q(i) = k(i) * 2
    m(i) max=! x(i, r)
    n(i) max=! x(i, r)
    (w, l)(i) argmax=! (x(i, r), r)
    z(i) = k(i) + l(i)
  })");
  const Graph s = maxima_of_winners(g);
  EXPECT_EQ(std::ranges::count_if(
                s.stages, [](const Stage& stage) { return stage.domain.reduction_rank() > 0; }),
            1)
      << print(s);
  EXPECT_TRUE(same_values(g, s));
}

TEST(MaximaOfWinners, OfOtherElementsStay) {
  for (const char* winner :
       {"(v, k)(i) argmax=! (x(i, r), r) where i in 0:8, r in 0:4",
        "(v, k)(i) argmax=! (-x(i, r), r)", "(v, k)(i) argmin=! (x(i, r), r)"}) {
    const Graph g = parse_graph("def f(double(8, 5) x) -> (m, k) {\n m(i) max=! x(i, r)\n " +
                                std::string(winner) + "\n}");
    EXPECT_EQ(print(maxima_of_winners(g)), print(g));
  }
}

}  // namespace
}  // namespace adjit::testing
