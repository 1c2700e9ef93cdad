// jit/emit/tile/reduction.cpp -- versions of a reduction's tile, and what its instances add up.
#include "jit/emit/tile/reduction.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "autosched/program/nests.hpp"
#include "jit/emit/ir/interleave.hpp"

namespace adjit::emit {

using llvm::Value;

ReductionEmitter::ReductionEmitter(NestContext& nest, AccumulatorEmitter& accumulators)
    : nest_(nest),
      shape_(nest.shape),
      stage_(*nest.shape.stage),
      kernel_(nest.kernel),
      accumulators_(accumulators),
      pairs_(nest),
      add_term_(nest) {}

Carried ReductionEmitter::accumulate(Carried accumulators) {
  const Constraints& tile = nest_.constraints.tile;
  const KernelVariables& variables = kernel_.variables;
  const size_t nodes = nest_.body_shape.node_count();
  const std::vector<LeftOut> left_out =
      vectors_left_out(shape_, nest_.constraints, nest_.limits, variables, nodes);
  const auto version = [&](Border border) {
    return [&, border](Carried carried) {
      Version version{asked_at(shape_, tile, border)};
      if (border != Border::None) version.left_out = left_out;
      return without_vectors(std::move(carried), version);
    };
  };
  const auto inside = [&](bool in_lanes) {
    return nest_.masks.at_least_zero_here(interior(shape_, tile, variables, in_lanes));
  };
  if (!has_interior(shape_, tile, variables, nodes))
    return version(Border::Any)(std::move(accumulators));
  // What others than sums do beside their masks takes longer: not worth a third version.
  if (stage_.combiner.kind != CombinerKind::Sum) {
    Value* in_lanes = inside(true);
    Value* all = kernel_.builder.CreateAnd(inside(false), in_lanes);
    return emit_either(kernel_.builder, kernel_.scopes, all, std::move(accumulators),
                       version(Border::None), version(Border::Any));
  }
  const auto at_most_in_lanes = [&](Carried carried) {
    return emit_either(kernel_.builder, kernel_.scopes, inside(true), std::move(carried),
                       version(Border::None), version(Border::Lanes));
  };
  return emit_either(kernel_.builder, kernel_.scopes, inside(false), std::move(accumulators),
                     at_most_in_lanes, version(Border::Any));
}

// Versions that leave out more and more of the vectors that may be.
Carried ReductionEmitter::without_vectors(Carried accumulators, const Version& version) {
  const auto here = [&](Carried carried) { return add_instances(std::move(carried), version); };
  if (version.count == version.left_out.size()) return here(std::move(accumulators));
  return emit_either(kernel_.builder, kernel_.scopes,
                     kernel_.index.at_least_zero(version.left_out[version.count].condition),
                     std::move(accumulators), here, [&](Carried carried) {
                       Version next = version;
                       ++next.count;
                       return without_vectors(std::move(carried), next);
                     });
}

// Every accumulator takes its contributions, where the constraints hold.
Carried ReductionEmitter::add_instances(Carried accumulators, const Version& version) {
  nest_.body.tile() = {shape_.instance_trips(nest_.limits), version.asked.empty()};
  Tile tile{{shape_, nest_.limits}, std::move(accumulators)};
  if (shape_.running && shape_.running->exclusive) accumulators_.store(tile.accumulators);
  InstanceSequence sequence(kernel_.builder);
  const auto add_all = [&](const std::vector<Contribution>& some, const Constraints& asked) {
    for (const Contribution& one : some) {
      sequence.mark();
      add(one, tile, version, asked);
    }
  };
  std::vector<Contribution> order = order_of(tile.instances);
  std::erase_if(order, [&](const Contribution& one) {
    return std::ranges::any_of(version.left_out.first(version.count), [&](const LeftOut& out) {
      return out.vector == tile.instances.vector_of(one);
    });
  });
  const std::vector<ContributionGroup> groups = groups_of(order, tile.instances, version.asked);
  Constraints in_lanes = version.asked;
  std::erase_if(in_lanes, [&](const AffineConstraint& constraint) {
    return !differs_in_lanes(shape_, constraint);
  });
  // What no constraint decides comes last: LLVM would take it there, without what it loads.
  for (const ContributionGroup& group : groups)
    if (!group.conditions.empty())
      add_branch(group, tile, [&] { add_all(group.contributions, in_lanes); });
  for (const ContributionGroup& group : groups)
    if (group.conditions.empty()) add_all(group.contributions, in_lanes);
  if (groups.empty()) add_all(order, version.asked);
  sequence.mark();
  sequence.interleave();
  if (shape_.running && !shape_.running->exclusive) accumulators_.store(tile.accumulators);
  return std::move(tile.accumulators);
}

std::vector<Contribution> ReductionEmitter::order_of(const ReductionInstances& instances) {
  const size_t outputs = instances.outputs.size(), reductions = instances.reductions.size();
  if (outputs < 2 || reductions < 2 || shape_.running || !is_commutative(stage_.combiner.kind))
    return all_contributions(outputs, reductions);
  const ExprPool& pool = kernel_.program.graph.pool;
  std::vector<ReadPlaces> reads;
  for (ExprId id : reachable(pool, shape_.bodies))
    if (pool.is(id, Op::Read)) reads.push_back(places_of(id, instances));
  return order_by_shared_reads(outputs, reductions, reads);
}

// Relative to the first contribution's; nothing where that is no constant.
ReadPlaces ReductionEmitter::places_of(ExprId read, const ReductionInstances& instances) {
  ReadPlaces places;
  std::optional<Affine> first;
  for (const Contribution& one :
       all_contributions(instances.outputs.size(), instances.reductions.size())) {
    nest_.masks.select(instances.at(one));
    const std::optional<Affine> form = plain_address(nest_.body.context(), read);
    if (!form) return {};
    if (!first) first = *form;
    const Affine moved = *form - *first;
    if (!moved.is_constant()) return {};
    places.push_back(moved.constant());
  }
  return places;
}

// By the values of the constraints' forms that are equal in all lanes and may be negative.
std::vector<ContributionGroup> ReductionEmitter::groups_of(const std::vector<Contribution>& order,
                                                           const ReductionInstances& instances,
                                                           const Constraints& asked) {
  if (shape_.running || !shape_.lane_loop || pairs_.any() || !is_commutative(stage_.combiner.kind))
    return {};
  std::vector<std::vector<Affine>> conditions;
  for (const Contribution& one : order) {
    nest_.masks.select(instances.at(one));
    std::vector<Affine>& of_one = conditions.emplace_back();
    for (const AffineConstraint& constraint : asked) {
      if (differs_in_lanes(shape_, constraint)) continue;
      if (!has_extremes(shape_, constraint)) return {};
      Affine form = placed(nest_.body.context(), constraint.form);
      if (kernel_.variables.range(form).lo < 0) of_one.push_back(std::move(form));
    }
  }
  return groups_by_conditions(order, std::move(conditions));
}

// The first of its components' accumulators.
size_t ReductionEmitter::place_of(const Contribution& one, const Tile& tile) const {
  const size_t components = shape_.bodies.size();
  const size_t chains = tile.accumulators.size() / components / tile.instances.outputs.size();
  return tile.instances.accumulator_of(one, chains) * components;
}

// A group behind its conditions: what `add` adds of it. The accumulators that it changes come out
// of the branch.
void ReductionEmitter::add_branch(const ContributionGroup& group, Tile& tile,
                                  const std::function<void()>& add) {
  std::set<size_t> changed;
  for (const Contribution& one : group.contributions)
    for (size_t k = 0; k < shape_.bodies.size(); ++k) changed.insert(place_of(one, tile) + k);
  Carried inside;
  for (const size_t at : changed) inside.push_back(tile.accumulators[at]);
  Value* all = nest_.masks.at_least_zero_here(group.conditions);
  inside = emit_if(kernel_.builder, kernel_.scopes, all, std::move(inside), [&](Carried carried) {
    const Carried before = tile.accumulators;
    nest_.body.tile().branched = true;
    add();
    nest_.body.tile().branched = false;
    std::ranges::transform(changed, carried.begin(),
                           [&](size_t at) { return tile.accumulators[at]; });
    tile.accumulators = before;
    return carried;
  });
  for (size_t k = 0; const size_t at : changed) tile.accumulators[at] = inside[k++];
}

// Adds what one instance contributes, where the constraints hold, to its accumulators.
void ReductionEmitter::add(const Contribution& one, Tile& tile, const Version& version,
                           const Constraints& constraints) {
  if (version.count < version.left_out.size()) {
    const Constraints fewer =
        asked_of_vector(shape_, constraints, kernel_.variables, tile.instances.vector_of(one),
                        version.left_out[version.count].condition);
    add(one, tile, fewer);
  } else {
    add(one, tile, constraints);
  }
}

void ReductionEmitter::add(const Contribution& one, Tile& tile, const Constraints& asked) {
  count_instance(nest_);
  const TileInstance instance = tile.instances.at(one);
  nest_.masks.select(instance);
  const Emitted holds = nest_.masks.all_of(asked);
  const Emitted tail = nest_.masks.first_lanes(
      std::min(instance.live_lanes, tile.instances.reductions[one.reduction].live_lanes));
  const Point point{instance.number, nest_.masks.conjunction(holds, tail)};
  // Lanes past the end of an output axis compute garbage that is never stored; of a reduction axis
  // they must not count.
  const Emitted keep = shape_.lanes_in_reduction() ? point.active : holds;
  const auto accumulator =
      tile.accumulators.begin() + static_cast<std::ptrdiff_t>(place_of(one, tile));
  if (pairs_.in_pair(instance, asked)) {
    if (pairs_.is_first(instance)) *accumulator = pairs_.add(point, *accumulator);
    return;
  }
  const Partial before(accumulator, accumulator + static_cast<long>(shape_.bodies.size()));
  std::ranges::copy(add_term_(before, point, keep), accumulator);
}

}  // namespace adjit::emit
