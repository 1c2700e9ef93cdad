// tests/autosched/analysis/reads/gather_access_test.cpp -- how coordinates move with axes and data.
#include "autosched/analysis/reads/gather_access.hpp"

#include <gtest/gtest.h>

#include "autosched/program/graph_edit.hpp"
#include "runtime/graph/parse/text_module.hpp"

namespace adjit::sched {
namespace {

class GatherAccess : public ::testing::Test {
 protected:
  // Of y's only read of x.
  std::span<const ExprId> index(const std::string& coordinates) {
    graph = parse_graph("def f(float(9, 9, 9) x, int64(4, 6) I) -> (y) { y(i, j) = x(" +
                        coordinates + ") where i in 0:4, j in 0:6 }");
    for (ExprId id : reachable(graph.pool, stage().bodies))
      if (graph.pool.is(id, Op::Read) && graph.info(graph.pool.read_tensor(id)).name == "x")
        return graph.pool.read_index(id);
    return {};
  }
  const Stage& stage() const { return graph.stages.back(); }
  std::optional<size_t> walked(const std::string& coordinates, size_t axis) {
    const std::span<const ExprId> at = index(coordinates);
    return dimension_walked(graph.pool, stage(), at, axis);
  }
  Graph graph;
};

TEST_F(GatherAccess, PiecesAreSixteenBytes) {
  const auto piece = [&](DType dtype) {
    return row_piece(graph, add_input(graph, "x", dtype, {4}));
  };
  EXPECT_EQ(piece(DType::Float32), 4);
  EXPECT_EQ(piece(DType::Float64), 2);
  EXPECT_EQ(piece(DType::BFloat16), 8);
  EXPECT_EQ(piece(DType::Int8), 0) << "such lanes are not transposed";
  EXPECT_EQ(piece(DType::Bool), 0);
}

TEST_F(GatherAccess, ACoordinateMovesWithTheAxesInIt) {
  const std::span<const ExprId> at = index("i, I(i, 0) % 9, 3");
  EXPECT_TRUE(uses(graph.pool, at[0], 0));
  EXPECT_FALSE(uses(graph.pool, at[0], 1));
  EXPECT_TRUE(uses(graph.pool, at[1], 0)) << "through data";
  EXPECT_FALSE(uses(graph.pool, at[2], 0));
}

TEST_F(GatherAccess, AnAxisWalksTheOneDimensionThatItMovesByOne) {
  EXPECT_EQ(walked("j, I(i, 0) % 9, 3", 1), 0u);
  EXPECT_EQ(walked("3, I(i, 0) % 9, j + 2", 1), 2u);
  EXPECT_EQ(walked("I(i, 0) % 9, 1, 3", 1), std::nullopt) << "moves none";
  EXPECT_EQ(walked("j, I(i, j) % 9, 3", 1), std::nullopt) << "moves two";
  EXPECT_EQ(walked("i * 2, 1, 3", 0), std::nullopt) << "in steps of two";
  EXPECT_EQ(walked("I(i, 0) % 9, 1, 3", 0), std::nullopt) << "as data says";
}

TEST_F(GatherAccess, WhatDataNamesLiesAroundTheInnermostDimension) {
  const std::span<const ExprId> at = index("j, I(i, 0) % 9, 3");
  EXPECT_EQ(order_of_rows(graph.pool, at, 0), (std::vector<size_t>{2, 1, 0}));
  EXPECT_EQ(order_of_rows(graph.pool, at, 2), (std::vector<size_t>{0, 1, 2}));
}

}  // namespace
}  // namespace adjit::sched
