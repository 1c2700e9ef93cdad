// tests/runtime/trace/ops/contractions/contraction_order_test.cpp -- orders of joins against all of
// them.
#include "runtime/trace/ops/contractions/contraction_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace adjit::trace {
namespace {

using Operands = std::vector<LabelledExtents>;

bool is_needed(int label, const Operands& others, const Labels& out) {
  return std::ranges::find(out, label) != out.end() ||
         std::ranges::any_of(others, [&](const auto& x) { return x.contains(label); });
}

// The multiply-adds of a gradient's joins: three times those of every join, twice those of the
// last.
double joined(Operands& list, const Join& join, const Labels& out) {
  LabelledExtents both = list[join.first];
  for (const auto& [label, extent] : list[join.second])
    if (!both.contains(label) || both[label] == 1) both[label] = extent;
  const bool is_last = list.size() == 2;
  double cost = is_last ? 2 : 3;
  for (const auto& [label, extent] : both) cost *= static_cast<double>(extent);
  list.erase(list.begin() + static_cast<long>(join.second));
  Operands others = list;
  others.erase(others.begin() + static_cast<long>(join.first));
  std::erase_if(both, [&](const auto& x) { return !is_needed(x.first, others, out); });
  list[join.first] = both;
  double passing = is_last ? 0 : 48;
  for (const auto& [label, extent] : both) passing *= static_cast<double>(extent);
  return cost + passing;
}

double cost_of(Operands list, const std::vector<Join>& joins, const Labels& out) {
  double sum = 0;
  for (const Join& join : joins) sum += joined(list, join, out);
  EXPECT_EQ(list.size(), 1u);
  return sum;
}

double least_cost(const Operands& list, const Labels& out) {
  if (list.size() == 1) return 0;
  double least = std::numeric_limits<double>::infinity();
  for (size_t a = 0; a < list.size(); ++a)
    for (size_t b = a + 1; b < list.size(); ++b) {
      Operands rest = list;
      const double own = joined(rest, {a, b}, out);
      least = std::min(least, own + least_cost(rest, out));
    }
  return least;
}

TEST(ContractionOrder, ABilinearLayerBeginsWithItsVectors) {
  enum : int { B, I, O, J };
  const Operands operands = {
      {{B, 256}, {I, 64}}, {{O, 128}, {I, 64}, {J, 64}}, {{B, 256}, {J, 64}}};
  EXPECT_EQ(contraction_order(operands, {B, O}), (std::vector<Join>{{0, 2}, {0, 1}}));
}

// Its vectors' outer product would be 64 times as large as anything else.
TEST(ContractionOrder, NoLargeProductOfVectorsForAFewResults) {
  enum : int { B, I, O, J };
  const Operands operands = {
      {{B, 4096}, {I, 512}}, {{O, 8}, {I, 512}, {J, 512}}, {{B, 4096}, {J, 512}}};
  EXPECT_EQ(contraction_order(operands, {B, O}).front(), (Join{0, 1}));
}

TEST(ContractionOrder, AVectorBehindMatricesComesFirst) {
  const Operands operands = {{{0, 50}, {1, 60}}, {{1, 60}, {2, 70}}, {{2, 70}}};
  EXPECT_EQ(contraction_order(operands, {0}), (std::vector<Join>{{1, 2}, {0, 1}}));
}

TEST(ContractionOrder, FromLeftToRightWhereAllAreEqual) {
  const LabelledExtents matrix = {{0, 5}};
  EXPECT_EQ(contraction_order(Operands(4, matrix), {0}),
            (std::vector<Join>{{0, 1}, {0, 1}, {0, 1}}));
  EXPECT_EQ(contraction_order(Operands(12, matrix), {0}), std::vector<Join>(11, Join{0, 1}));
}

TEST(ContractionOrder, NoneIsCheaperThanTheExactOne) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 300; ++round) {
    Operands operands(static_cast<size_t>(2 + below(4)));
    Labels out;
    for (int label = 0; label < 7; ++label) {
      const int64_t extent = below(9);  // also none
      if (below(3) == 0) out.push_back(label);
      // In two operands, so that none has a label for itself; one of them may broadcast.
      const auto first = static_cast<size_t>(below(static_cast<int>(operands.size())));
      const size_t second =
          (first + 1 + static_cast<size_t>(below(static_cast<int>(operands.size()) - 1))) %
          operands.size();
      operands[first][label] = extent;
      operands[second][label] = below(5) == 0 ? 1 : extent;
    }
    EXPECT_DOUBLE_EQ(cost_of(operands, contraction_order(operands, out), out),
                     least_cost(operands, out));
  }
}

TEST(ContractionOrder, ManyOperandsAreJoinedPairByPair) {
  Operands chain;  // matrices between dimensions of 2 and of 30
  for (int k = 0; k < 20; ++k) chain.push_back({{k, k % 2 ? 2 : 30}, {k + 1, k % 2 ? 30 : 2}});
  const Labels out = {0, 20};
  std::vector<Join> from_left(chain.size() - 1, Join{0, 1});
  EXPECT_LT(cost_of(chain, contraction_order(chain, out), out), cost_of(chain, from_left, out));
}

}  // namespace
}  // namespace adjit::trace
