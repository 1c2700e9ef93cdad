// tests/jit/emit/shape/contributions_test.cpp -- orders and groups of what a tile adds up.
#include "jit/emit/shape/contributions.hpp"

#include <gtest/gtest.h>

#include "tests/autosched/programs.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using emit::Contribution;
using emit::ReadPlaces;

// Of a read whose element lies at a place that the instances' numbers give.
template <class Place>
ReadPlaces places(size_t outputs, size_t reductions, Place&& place) {
  ReadPlaces all;
  for (const auto& [output, reduction] : emit::all_contributions(outputs, reductions))
    all.push_back(place(static_cast<int64_t>(output), static_cast<int64_t>(reduction)));
  return all;
}

std::vector<size_t> reductions_of(const std::vector<Contribution>& order, size_t output) {
  std::vector<size_t> found;
  for (const Contribution& one : order)
    if (one.output == output) found.push_back(one.reduction);
  return found;
}

TEST(Contributions, ThoseThatShareAnElementComeTogether) {
  for (const int64_t direction : {1, -1}) {
    const ReadPlaces sum = places(4, 3, [&](int64_t o, int64_t r) { return o + direction * r; });
    const auto order = emit::order_by_shared_reads(4, 3, std::vector<ReadPlaces>{sum});
    ASSERT_EQ(order.size(), 12u);
    size_t changes = 0;
    for (size_t k = 1; k < order.size(); ++k)
      changes += sum[order[k].reduction * 4 + order[k].output] !=
                 sum[order[k - 1].reduction * 4 + order[k - 1].output];
    EXPECT_EQ(changes, 5u) << "6 elements, each read once";
    for (size_t output = 0; output < 4; ++output)
      EXPECT_EQ(reductions_of(order, output), (std::vector<size_t>{0, 1, 2}))
          << "a result takes its terms in the order of its reduction";
  }
}

TEST(Contributions, ReadsThatShareNothingLeaveTheOrder) {
  const ReadPlaces of_results = places(4, 3, [](int64_t o, int64_t) { return o; });
  const ReadPlaces apart = places(4, 3, [](int64_t o, int64_t r) { return o + 4 * r; });
  EXPECT_EQ(
      emit::order_by_shared_reads(4, 3, std::vector<ReadPlaces>{of_results, apart, ReadPlaces()}),
      emit::all_contributions(4, 3));
  EXPECT_EQ(emit::all_contributions(2, 2),
            (std::vector<Contribution>{{0, 0}, {1, 0}, {0, 1}, {1, 1}}));
}

TEST(Contributions, TheReadOfTheFewestElementsDecides) {
  const ReadPlaces few = places(4, 3, [](int64_t o, int64_t r) { return o + r; });
  const ReadPlaces more = places(4, 3, [](int64_t o, int64_t r) { return o + 2 * r; });
  EXPECT_EQ(emit::order_by_shared_reads(4, 3, std::vector<ReadPlaces>{more, few}),
            emit::order_by_shared_reads(4, 3, std::vector<ReadPlaces>{few}));
  EXPECT_NE(emit::order_by_shared_reads(4, 3, std::vector<ReadPlaces>{more}),
            emit::order_by_shared_reads(4, 3, std::vector<ReadPlaces>{few}));
}

TEST(Contributions, GroupsHaveOneConditionAndAreLongEnoughForABranch) {
  const std::vector<Contribution> order = emit::all_contributions(3, 2);
  const std::vector<Affine> first{Affine::variable(0)}, second{Affine::variable(1)}, none;
  const auto groups = emit::groups_by_conditions(order, {first, first, first, none, none, none});
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].conditions, first);
  EXPECT_EQ(groups[1].conditions, none);
  EXPECT_EQ(groups[1].contributions, (std::vector<Contribution>{{0, 1}, {1, 1}, {2, 1}}));
  EXPECT_TRUE(emit::groups_by_conditions(order, {first, first, second, none, none, none}).empty())
      << "two in the mean";
  EXPECT_TRUE(emit::groups_by_conditions(order, {none, none, none, none, none, none}).empty())
      << "nothing is asked";
}

// Sums of three rows, in lanes along the reduction, four vectors of it.
TEST(Contributions, InstancesKnowTheirAccumulators) {
  Program p = vectorize(plain(matmul_graph(3, 4, 64)), 0, 2, 8);
  p = unroll(unroll(std::move(p), 0, 2, 4), 0, 0, 3);
  const emit::NestShape shape(p, p.kernels[0].root);
  const emit::ReductionInstances instances(shape, shape.tile_points);
  ASSERT_EQ(instances.outputs.size(), 3u);
  ASSERT_EQ(instances.reductions.size(), 4u);
  EXPECT_EQ(instances.accumulator_of({2, 3}, 4), 11u);
  EXPECT_EQ(shape.offset_along(0, instances.at({2, 3})), 2);
  EXPECT_EQ(shape.offset_along(2, instances.at({2, 3})), 24);
}

TEST(Contributions, InstancesKnowTheirVector) {
  const Program p =
      unroll(unroll(vectorize(plain(matmul_graph(6, 32, 5)), 0, 1, 8), 0, 1, 2), 0, 0, 2);
  const emit::NestShape shape(p, p.kernels[0].root);
  const emit::ReductionInstances instances(shape, shape.tile_points);
  std::vector<int64_t> vectors;
  for (const Contribution& one : emit::all_contributions(instances.outputs.size(), 1))
    vectors.push_back(instances.vector_of(one));
  EXPECT_EQ(vectors, (std::vector<int64_t>{0, 0, 8, 8}));
}

}  // namespace
}  // namespace adjit::testing
