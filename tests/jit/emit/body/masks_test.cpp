// tests/jit/emit/body/masks_test.cpp -- which points of a tile there are.
#include "jit/emit/body/masks.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// Sums of a triangle, four rows in a tile, lanes along the columns of a band.
Program band(const std::string& conditions) {
  const Graph graph = parse_graph(
      "def main(float(8, 6) a, float(6, 24) b) -> (y) { y(i, j) +=! a(i, r) * b(r, j) where i in "
      "0:8, j in 0:24, r in 0:6" +
      conditions + " }");
  return vectorize(unroll(plain(graph, 1), 0, 0, 2), 0, 1, 8);
}

TEST(Masks, ConstraintsThatHoldEverywhereAskNothing) {
  const std::string ir = checked_ir(band(", j + r <= 99"));
  EXPECT_EQ(occurrences(ir, "<8 x i1>"), 0u) << ir;
}

TEST(Masks, EachInstanceAsksItsOwnConstraints) {
  // Lanes differ in j <= 3 i + r: a comparison for each of two rows.
  const std::string ir = checked_ir(band(", j <= 3*i + r"));
  EXPECT_EQ(occurrences(ir, "icmp sge <8 x"), 2u) << ir;
  EXPECT_EQ(occurrences(ir, "and <8 x i1>"), 0u) << "one constraint has no conjunction\n" << ir;
}

TEST(Masks, AConjunctionIsOneValueForAllWhoAskIt) {
  // Both constraints of the lanes, none of the rows: one mask for both instances.
  const std::string ir = checked_ir(band(", j <= 20 - r, 2*j >= r"));
  EXPECT_EQ(occurrences(ir, "and <8 x i1>"), 1u) << ir;
}

TEST(Masks, LanesBehindTheLastPointAreConstantMasks) {
  const Graph graph = parse_graph(
      "def main(float(3, 5) x) -> (y) { y(i, j) = x(i, j) * 2.0 where i in 0:3, j in 0:5 }");
  const std::string ir = checked_ir(vectorize(plain(graph, 1), 0, 1, 8));
  EXPECT_EQ(occurrences(ir, "icmp sge <8 x"), 0u) << ir;
}

}  // namespace
}  // namespace adjit::testing
