// jit/emit/contributions.cpp -- what the copies of a reduction's tile add to their accumulators,
// and in which order.
//
// Copies along an axis of the results and copies along one of the reduction often read the same
// element: x(k + r) of (k, r) = (0, 1) and (1, 0). One after the other, they take it from one
// register; with all k of one r before the next r, it would stay in a register for all of them.
// Where a row of the domain says whether that element is in the image, it is asked once for all.
#include <algorithm>
#include <numeric>
#include <set>
#include <span>

#include "autosched/program/nests.hpp"
#include "jit/emit/interleave.hpp"
#include "jit/emit/nest.hpp"

namespace adjit::emit {

using llvm::Value;

// All pairs of copies, those of one reduction copy after the other, or, where a read is shared, by
// its address.
std::vector<NestEmitter::Contribution> NestEmitter::contribution_order(
    const std::vector<TileInstance>& outputs, const std::vector<TileInstance>& reductions) {
  std::vector<Contribution> order;
  for (size_t r = 0; r < reductions.size(); ++r)
    for (size_t o = 0; o < outputs.size(); ++o) order.push_back({o, r});
  if (outputs.size() < 2 || reductions.size() < 2 || stage_.running ||
      !is_commutative(stage_.combiner.kind))
    return order;

  // Where the copies' elements lie: nothing where that is not the same but for a constant.
  const auto places_of = [&](ExprId read) {
    std::vector<int64_t> places;
    std::optional<Affine> first;
    for (const Contribution& pair : order) {
      masks_->select(shape_.combined(outputs[pair.output], reductions[pair.reduction]));
      const std::optional<Affine> form = body_->plain_address(read);
      if (!form) return std::vector<int64_t>();
      if (!first) first = *form;
      if (const Affine moved = *form - *first; moved.is_constant())
        places.push_back(moved.constant());
      else
        return std::vector<int64_t>();
    }
    return places;
  };
  std::vector<int64_t> shared;
  size_t least = order.size();
  const ExprPool& pool = program_.graph.pool;
  for (ExprId id : reachable(pool, stage_.bodies)) {
    if (!pool.is(id, Op::Read)) continue;
    std::vector<int64_t> places = places_of(id);
    if (places.empty()) continue;
    std::set<int64_t> by_output(places.begin(), places.begin() + static_cast<long>(outputs.size()));
    std::set<int64_t> by_reduction;
    for (size_t r = 0; r < reductions.size(); ++r) by_reduction.insert(places[r * outputs.size()]);
    const std::set<int64_t> all(places.begin(), places.end());
    if (all.size() >= by_output.size() * by_reduction.size() || all.size() >= least) continue;
    least = all.size();
    shared = std::move(places);
  }
  if (shared.empty()) return order;
  // Every result takes its contributions in the order of the reduction.
  const bool backwards = shared.back() < shared[outputs.size() - 1];
  std::vector<size_t> sorted(order.size());
  std::iota(sorted.begin(), sorted.end(), size_t{0});
  std::ranges::stable_sort(sorted, {},
                           [&](size_t k) { return backwards ? -shared[k] : shared[k]; });
  std::vector<Contribution> by_place;
  for (const size_t k : sorted) by_place.push_back(order[k]);
  return by_place;
}

// One pass over the copies of the tile.
Carried NestEmitter::accumulate(Carried accumulators) {
  if (shape_.is_scatter()) {
    scatter_->write_instances(tile_rows_, [this] { count_copy(); });
    return accumulators;
  }
  const std::vector<LeftOut> left_out = vectors_left_out();
  const auto version = [&](Border border) {
    return [&, border](Carried carried) {
      return border == Border::None
                 ? accumulate_copies(std::move(carried), asked_rows(border), {}, 0)
                 : accumulate_vectors(std::move(carried), asked_rows(border), left_out, 0);
    };
  };
  if (!has_interior()) return version(Border::Any)(std::move(accumulators));
  const auto inside = [&](Carried carried) {
    return emit_either(builder_, scopes_, is_interior(true), std::move(carried),
                       version(Border::None), version(Border::Lanes));
  };
  // What others than sums do beside their masks takes longer: not worth a third version.
  if (stage_.combiner.kind != CombinerKind::Sum) {
    Value* all = builder_.CreateAnd(is_interior(false), is_interior(true));
    return emit_either(builder_, scopes_, all, std::move(accumulators), version(Border::None),
                       version(Border::Any));
  }
  return emit_either(builder_, scopes_, is_interior(false), std::move(accumulators), inside,
                     version(Border::Any));
}

// The first `count` vectors that may be left out are; versions for those that are not.
Carried NestEmitter::accumulate_vectors(Carried accumulators, const Constraints& asked,
                                        const std::vector<LeftOut>& left_out, size_t count) {
  const auto here = [&](Carried carried) {
    return accumulate_copies(std::move(carried), asked, left_out, count);
  };
  if (count == left_out.size()) return here(std::move(accumulators));
  return emit_either(builder_, scopes_, index_.at_least_zero(left_out[count].condition),
                     std::move(accumulators), here, [&](Carried carried) {
                       return accumulate_vectors(std::move(carried), asked, left_out, count + 1);
                     });
}

// Every accumulator takes its contribution, where the rows hold.
Carried NestEmitter::accumulate_copies(Carried accumulators, const Constraints& asked,
                                       const std::vector<LeftOut>& left_out, size_t count) {
  body_->set_copy_trips(shape_.instance_trips(tile_limit_));
  body_->set_rows_hold(asked.empty());
  const std::vector<TileInstance> outputs = shape_.instances(tile_limit_, false);
  const std::vector<TileInstance> reductions = shape_.instances(tile_limit_, true);
  const size_t components = stage_.bodies.size();
  const size_t chains = accumulators.size() / components / outputs.size();
  if (stage_.running && stage_.running->exclusive) finish(outputs, accumulators);
  const auto first_of = [&](const Contribution& one) {
    const size_t chain = one.output * chains + shape_.chain_of(reductions[one.reduction]);
    return static_cast<std::ptrdiff_t>(chain * components);
  };
  const auto vector_of = [&](const Contribution& one) {
    return shape_.offset_along(nest_.loops[*shape_.lane_loop].axis, outputs[one.output]);
  };
  CopySequence sequence(builder_);
  const auto add = [&](std::span<const Contribution> some, const Constraints& rows) {
    for (const Contribution& one : some) {
      sequence.mark();
      add_contribution(outputs[one.output], reductions[one.reduction],
                       count < left_out.size()
                           ? rows_of_vector(rows, vector_of(one), left_out[count].condition)
                           : rows,
                       accumulators.begin() + first_of(one));
    }
  };
  std::vector<Contribution> order = contribution_order(outputs, reductions);
  std::erase_if(order, [&](const Contribution& one) {
    return std::any_of(left_out.begin(), left_out.begin() + static_cast<long>(count),
                       [&](const LeftOut& out) { return out.vector == vector_of(one); });
  });
  const std::vector<Group> groups = groups_of(order, outputs, reductions, asked);
  Constraints in_lanes = asked;
  std::erase_if(in_lanes, [&](const AffineConstraint* row) { return !differs_in_lanes(*row); });
  // What no row decides comes last: LLVM would take it there, without what it loads.
  for (const Group& group : groups) {
    if (group.conditions.empty()) continue;
    std::set<size_t> changed;
    for (const Contribution& one : group.contributions)
      for (size_t k = 0; k < components; ++k)
        changed.insert(static_cast<size_t>(first_of(one)) + k);
    Carried inside;
    for (const size_t at : changed) inside.push_back(accumulators[at]);
    Value* all = builder_.getTrue();
    for (const Affine& condition : group.conditions)
      all = builder_.CreateAnd(all, index_.at_least_zero(condition));
    inside = emit_if(builder_, scopes_, all, std::move(inside), [&](Carried carried) {
      const Carried before = accumulators;
      body_->set_branched(true);
      add(group.contributions, in_lanes);
      body_->set_branched(false);
      std::ranges::transform(changed, carried.begin(), [&](size_t at) { return accumulators[at]; });
      accumulators = before;
      return carried;
    });
    for (size_t k = 0; const size_t at : changed) accumulators[at] = inside[k++];
  }
  for (const Group& group : groups)
    if (group.conditions.empty()) add(group.contributions, in_lanes);
  if (groups.empty()) add(order, asked);
  sequence.mark();
  sequence.interleave();
  if (stage_.running && !stage_.running->exclusive) finish(outputs, accumulators);
  return accumulators;
}

// Runs of contributions that the same rows decide, equal in all lanes, with the values of these
// rows' forms that may be negative; none where such runs are too short to branch for.
std::vector<NestEmitter::Group> NestEmitter::groups_of(const std::vector<Contribution>& order,
                                                       const std::vector<TileInstance>& outputs,
                                                       const std::vector<TileInstance>& reductions,
                                                       const Constraints& asked) {
  constexpr size_t kWorthABranch = 3;  // contributions, in the mean
  std::vector<Group> groups;
  if (stage_.running || !shape_.lane_loop || pair_loop_ || !is_commutative(stage_.combiner.kind))
    return groups;
  bool any = false;
  for (const Contribution& one : order) {
    masks_->select(shape_.combined(outputs[one.output], reductions[one.reduction]));
    std::vector<Affine> conditions;
    for (const AffineConstraint* row : asked) {
      if (differs_in_lanes(*row)) continue;
      if (!is_plain(*row)) return {};
      const Affine form = body_->place(row->form);
      if (index_.range(form).lo < 0) conditions.push_back(form);
    }
    any |= !conditions.empty();
    if (groups.empty() || groups.back().conditions != conditions)
      groups.push_back({{}, std::move(conditions)});
    groups.back().contributions.push_back(one);
  }
  if (!any || groups.size() * kWorthABranch > order.size()) groups.clear();
  return groups;
}

// Adds what one copy contributes, where the rows hold, to its accumulators.
void NestEmitter::add_contribution(const TileInstance& output, const TileInstance& reduction,
                                   const Constraints& asked, Carried::iterator accumulator) {
  count_copy();
  const TileInstance copy = shape_.combined(output, reduction);
  masks_->select(copy);
  const Emitted rows = masks_->all_of(asked);
  const Emitted tail = masks_->first_lanes(std::min(copy.live_lanes, reduction.live_lanes));
  const Point point{copy.number, masks_->both(rows, tail)};
  // Lanes past the end of an output axis compute garbage that is never stored; of a reduction axis
  // they must not count.
  const Emitted keep = shape_.lanes_in_reduction() ? point.active : rows;
  if (pair_loop_ && !asks_of_pair(copy, asked) && in_pairs(copy)) {
    // The second point came with the first.
    if (copy.values[*pair_loop_] == 0) *accumulator = add_pair(point, *accumulator);
    return;
  }
  const Partial before(accumulator, accumulator + static_cast<long>(stage_.bodies.size()));
  std::ranges::copy(contribution(point, before, keep), accumulator);
}

Partial NestEmitter::contribution(const Point& point, const Partial& accumulator,
                                  const Emitted& keep) {
  const ExprPool& pool = program_.graph.pool;
  const auto value_of = [&](ExprId id) {
    const Emitted value = (*body_)(id, point);
    return shape_.lane_loop ? body_->splat(value) : value.value;
  };
  const auto is_product = [&](ExprId body) {
    return stage_.combiner.kind == CombinerKind::Sum && pool.is(body, Op::Mul) &&
           is_float(pool.dtype(body));
  };
  Value* mask = keep.value && shape_.lane_loop ? body_->splat(keep) : keep.value;
  Partial combined;
  if (std::ranges::any_of(stage_.bodies, is_product)) {  // of sums, each by itself
    for (size_t k = 0; k < stage_.bodies.size(); ++k) {
      const ExprId body = stage_.bodies[k];
      Value* sum = accumulator[k];
      combined.push_back(is_product(body)
                             ? context_.math.multiply_add(value_of(pool.operand(body, 0)),
                                                          value_of(pool.operand(body, 1)), sum)
                             : combiner_.combine_component(k, sum, value_of(body)));
    }
  } else {
    Partial values;
    for (ExprId id : stage_.bodies) values.push_back(value_of(id));
    // From the back, the new point stands before those that the accumulator holds.
    const bool backwards = stage_.running && stage_.running->reverse;
    if (mask && !backwards) return combiner_.combine_where(mask, accumulator, values);
    combined =
        backwards ? combiner_.combine(values, accumulator) : combiner_.combine(accumulator, values);
  }
  return mask ? combiner_.selected(mask, combined, accumulator) : combined;
}

}  // namespace adjit::emit
