// tests/autosched/gpu/products/nearness_test.cpp -- how near to each other neighbours read.
#include "autosched/gpu/products/nearness.hpp"

#include <gtest/gtest.h>

#include <string>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/rooms.hpp"

namespace adjit::sched {
namespace {

LoweredGraph reading(const std::string& value) {
  return LoweredGraph(
      parse_graph("def f(float(64, 64) x, float(64) v, int64(64) q) -> (y) { y(i, j) = " + value +
                  " where i in 0:64, j in 0:64 }"));
}

TEST(Nearness, NeighboursAlongTheRowsOfATensorShareSectors) {
  const auto along = [](const std::string& value, size_t axis) {
    const LoweredGraph graph = reading(value);
    return nearness_along(graph, graph.stages[0], axis);
  };
  EXPECT_GT(along("x(i, j)", 1), 0);
  EXPECT_EQ(along("x(i, j)", 0), 0);
  EXPECT_GT(along("x(j, i)", 0), 0);
  EXPECT_EQ(along("x(j, i)", 1), 0);
  EXPECT_GT(along("v(i) + x(i, j)", 1), along("x(i, j)", 1)) << "all neighbours read one element";
  EXPECT_EQ(along("x(i, q(j))", 1), along("v(j)", 1)) << "the places do, not what they name";
}

TEST(Nearness, SectorsAreReadWholeWhereNeighboursLieApart) {
  const auto bytes = [](const std::string& value) {
    const LoweredGraph graph = reading(value);
    return sector_bytes_read(graph, graph.stages[0]);
  };
  EXPECT_NEAR(bytes("x(i, j)"), 4, 1);
  EXPECT_NEAR(bytes("x(j, i)"), 4, 1) << "neighbours take columns";
  EXPECT_GT(bytes("x(i, j) + x(j, i)"), 30);
  EXPECT_EQ(bytes("x(i, q(j))"), 32) << "a sector each";
}

}  // namespace
}  // namespace adjit::sched
