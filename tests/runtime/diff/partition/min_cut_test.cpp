// tests/runtime/diff/partition/min_cut_test.cpp -- minimum cuts, against every cut of small
// networks.
#include "runtime/diff/partition/min_cut.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using Edges = std::vector<std::tuple<size_t, size_t, int64_t>>;

Network network_of(size_t nodes, const Edges& edges) {
  Network network(nodes);
  for (const auto& [from, to, capacity] : edges) network.add_edge(from, to, capacity);
  return network;
}

// Of the edges from the source's side to the sink's.
int64_t capacity_of(const Edges& edges, const std::vector<char>& sink_side) {
  int64_t total = 0;
  for (const auto& [from, to, capacity] : edges)
    if (!sink_side[from] && sink_side[to]) total += capacity;
  return total;
}

TEST(MinCut, TextbookNetworkHasFlow23) {
  Network n = network_of(6, {{0, 1, 16},
                             {0, 2, 13},
                             {1, 2, 10},
                             {2, 1, 4},
                             {1, 3, 12},
                             {3, 2, 9},
                             {2, 4, 14},
                             {4, 3, 7},
                             {3, 5, 20},
                             {4, 5, 4}});
  int64_t flow = 0;
  const std::vector<char> side = n.sink_side(0, 5, flow);
  EXPECT_EQ(flow, 23);
  EXPECT_FALSE(side[0]);
  EXPECT_TRUE(side[5]);
}

TEST(MinCut, WithoutAWayTheFlowIsZeroAndTheSinkStandsAlone) {
  Network n = network_of(3, {{0, 1, 5}, {2, 1, 5}});
  int64_t flow = -1;
  EXPECT_EQ(n.sink_side(0, 2, flow), (std::vector<char>{0, 0, 1}));
  EXPECT_EQ(flow, 0);
}

TEST(MinCut, OfEqualCutsTheOneNearestToTheSinkIsTaken) {
  Network n = network_of(4, {{0, 1, 3}, {1, 2, 3}, {2, 3, 3}});
  int64_t flow = 0;
  EXPECT_EQ(n.sink_side(0, 3, flow), (std::vector<char>{0, 0, 0, 1}));
  EXPECT_EQ(flow, 3);
}

TEST(MinCut, UnboundedFlowsDoNotOverflow) {
  Network n(2);
  for (int k = 0; k < 8; ++k) n.add_edge(0, 1, Network::kUnbounded);
  int64_t flow = 0;
  n.sink_side(0, 1, flow);
  EXPECT_EQ(flow, Network::kUnbounded);
}

// The path through a hundred thousand nodes needs no stack.
TEST(MinCut, LongChainsNeedNoRecursion) {
  constexpr size_t kNodes = 100'000;
  Network n(kNodes);
  for (size_t k = 0; k + 1 < kNodes; ++k) n.add_edge(k, k + 1, k == kNodes / 2 ? 2 : 9);
  int64_t flow = 0;
  const std::vector<char> side = n.sink_side(0, kNodes - 1, flow);
  EXPECT_EQ(flow, 2);
  EXPECT_FALSE(side[kNodes / 2]);
  EXPECT_TRUE(side[kNodes / 2 + 1]);
}

TEST(MinCut, RandomNetworksHaveTheLeastOfAllCuts) {
  std::mt19937 random(5);
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 300; ++round) {
    const size_t nodes = static_cast<size_t>(draw(2, 7));
    Edges edges;
    for (int64_t k = draw(0, 14); k > 0; --k)
      edges.emplace_back(static_cast<size_t>(draw(0, static_cast<int64_t>(nodes) - 1)),
                         static_cast<size_t>(draw(0, static_cast<int64_t>(nodes) - 1)), draw(0, 6));
    int64_t least = INT64_MAX;
    size_t smallest = nodes;  // sink's side of a least cut
    for (size_t set = 0; set < size_t{1} << nodes; ++set) {
      if ((set & 1) || !(set >> (nodes - 1))) continue;  // the source is 0, the sink the last
      std::vector<char> side(nodes);
      for (size_t k = 0; k < nodes; ++k) side[k] = static_cast<char>(set >> k & 1);
      const int64_t capacity = capacity_of(edges, side);
      const size_t size = static_cast<size_t>(std::ranges::count(side, char{1}));
      if (capacity < least || (capacity == least && size < smallest)) smallest = size;
      least = std::min(least, capacity);
    }
    int64_t flow = 0;
    const std::vector<char> side = network_of(nodes, edges).sink_side(0, nodes - 1, flow);
    ASSERT_EQ(flow, least) << "round " << round;
    ASSERT_EQ(capacity_of(edges, side), least) << "round " << round;
    ASSERT_EQ(static_cast<size_t>(std::ranges::count(side, char{1})), smallest) << round;
  }
}

// The shortest way, 0 1 2 7, takes what both of the longer ones need: it is given back.
TEST(MinCut, FlowIsRedirectedWhereAShortWayBlocksTwoLongOnes) {
  Network n = network_of(8, {{0, 1, 1},
                             {1, 2, 1},
                             {2, 7, 1},
                             {1, 3, 1},
                             {3, 4, 1},
                             {4, 7, 1},
                             {0, 5, 1},
                             {5, 6, 1},
                             {6, 2, 1}});
  int64_t flow = 0;
  n.sink_side(0, 7, flow);
  EXPECT_EQ(flow, 2);
}

}  // namespace
}  // namespace adjit::testing
