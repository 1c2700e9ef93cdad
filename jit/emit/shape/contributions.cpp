// jit/emit/shape/contributions.cpp -- orders and groups of what a tile adds up.
#include "jit/emit/shape/contributions.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace adjit::emit {
namespace {

/// Different elements that a read finds for all contributions, where they are fewer than those of
/// independent instances; else nothing is shared, and `most` is the answer.
size_t shared_elements(const ReadPlaces& places, size_t outputs, size_t most) {
  const std::set<int64_t> all(places.begin(), places.end());
  const std::set<int64_t> by_output(places.begin(), places.begin() + static_cast<long>(outputs));
  std::set<int64_t> by_reduction;
  for (size_t first = 0; first < places.size(); first += outputs)
    by_reduction.insert(places[first]);
  return all.size() < by_output.size() * by_reduction.size() ? all.size() : most;
}

}  // namespace

ReductionInstances::ReductionInstances(const NestShape& shape, std::span<const int64_t> limits)
    : shape(&shape),
      outputs(shape.instances(limits, false)),
      reductions(shape.instances(limits, true)) {}

TileInstance ReductionInstances::at(const Contribution& one) const {
  return shape->combined(outputs[one.output], reductions[one.reduction]);
}

int64_t ReductionInstances::vector_of(const Contribution& one) const {
  return shape->offset_along(shape->nest->loops[*shape->lane_loop].axis, outputs[one.output]);
}

size_t ReductionInstances::accumulator_of(const Contribution& one, size_t chains) const {
  return one.output * chains + shape->chain_of(reductions[one.reduction]);
}

std::vector<Contribution> all_contributions(size_t outputs, size_t reductions) {
  std::vector<Contribution> all;
  for (size_t r = 0; r < reductions; ++r)
    for (size_t o = 0; o < outputs; ++o) all.push_back({o, r});
  return all;
}

std::vector<Contribution> order_by_shared_reads(size_t outputs, size_t reductions,
                                                std::span<const ReadPlaces> reads) {
  std::vector<Contribution> order = all_contributions(outputs, reductions);
  const ReadPlaces* shared = nullptr;
  size_t least = order.size();
  for (const ReadPlaces& places : reads) {
    if (places.empty()) continue;
    const size_t elements = shared_elements(places, outputs, least);
    if (elements >= least) continue;
    least = elements;
    shared = &places;
  }
  if (!shared) return order;
  const bool backwards = shared->back() < (*shared)[outputs - 1];
  std::vector<size_t> sorted(order.size());
  std::iota(sorted.begin(), sorted.end(), size_t{0});
  std::ranges::stable_sort(sorted, {},
                           [&](size_t k) { return backwards ? -(*shared)[k] : (*shared)[k]; });
  std::vector<Contribution> by_place;
  for (const size_t k : sorted) by_place.push_back(order[k]);
  return by_place;
}

std::vector<ContributionGroup> groups_by_conditions(const std::vector<Contribution>& order,
                                                    std::vector<std::vector<Affine>> of) {
  constexpr size_t kWorthABranch = 3;  // contributions, in the mean
  std::vector<ContributionGroup> groups;
  bool any = false;
  for (size_t k = 0; k < order.size(); ++k) {
    any |= !of[k].empty();
    if (groups.empty() || groups.back().conditions != of[k])
      groups.push_back({{}, std::move(of[k])});
    groups.back().contributions.push_back(order[k]);
  }
  if (!any || groups.size() * kWorthABranch > order.size()) groups.clear();
  return groups;
}

}  // namespace adjit::emit
