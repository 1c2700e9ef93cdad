// tests/runtime/diff/conditions/prefix_reduction_test.cpp -- masks leave prefix reductions what
// they are.
#include "runtime/diff/conditions/prefix_reduction.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/masks.hpp"

namespace adjit::testing {
namespace {

size_t prefixes(const Graph& graph) {
  return static_cast<size_t>(std::ranges::count_if(graph.stages, [&](const Stage& stage) {
    return prefix_reduction(graph.pool, stage).has_value();
  }));
}

Graph program(const std::string& term, const std::string& reader, const std::string& row) {
  return parse_graph("def main(double(6, 24) x) -> (y) {\n  c(b, i) +=! " + term +
                     " where b in 0:6, i in 0:24, r in 0:24, " + row + "\n  y(b) +=! " + reader +
                     "\n}");
}

// What is masked before it is summed up, and what is read of the sums: each takes a row elsewhere.
TEST(PrefixReduction, StaysOneBehindMasks) {
  for (const char* row : {"r <= i", "r < i", "r >= i", "r > i"})
    for (const char* term :
         {"x(b, r)", "r < 6 ? x(b, r) : 0.0", "r >= 12 ? x(b, r) : 0.0", "b >= 3 ? x(b, r) : 0.0"})
      for (const char* reader :
           {"exp(c(b, i))", "i < 12 ? exp(c(b, i)) : 0.0", "i >= 12 ? c(b, i) * x(b, i) : 0.0",
            "b < 3 ? exp(c(b, i)) : 0.0"}) {
        SCOPED_TRACE(std::string(row) + ", " + term + ", " + reader);
        const Graph forward = program(term, reader, row);
        ASSERT_EQ(prefixes(forward), 1u);
        const Graph simple = simplify(forward);
        EXPECT_TRUE(same_numbers(forward, simple));
        // Sums that are zero wherever they are read are not taken at all.
        const bool apart = term[0] == 'b' && std::string_view(reader).starts_with("b");
        const Graph last = simplify_last(simple);
        EXPECT_TRUE(same_numbers(forward, last));
        EXPECT_EQ(prefixes(last), apart ? 0u : 1u) << print(last);
        EXPECT_EQ(prefixes(restrict_domains(forward)), 1u);
        EXPECT_EQ(prefixes(restrict_to_supports(forward)), 1u);
        EXPECT_EQ(prefixes(restrict_to_reads(forward)), 1u);
        EXPECT_TRUE(check_gradients(simple, 1));
      }
}

// An equality leaves no sum at all.
TEST(PrefixReduction, IsGivenUpForOneTerm) {
  const Graph forward = program("(r == 5 ? x(b, r) : 0.0)", "c(b, i)", "r <= i");
  const Graph simple = simplify(forward);
  EXPECT_TRUE(same_numbers(forward, simple));
  EXPECT_EQ(prefixes(simple), 0u) << print(simple);
}

}  // namespace
}  // namespace adjit::testing
