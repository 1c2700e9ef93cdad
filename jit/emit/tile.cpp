// jit/emit/tile.cpp -- the register tile: accumulators, unrolled copies, masks.
#include <algorithm>

#include "jit/emit/interleave.hpp"
#include "jit/emit/memory_types.hpp"
#include "jit/emit/nest.hpp"

namespace adjit::emit {

using llvm::Value;

void NestEmitter::emit_points() {
  if (shape_.is_scatter()) {
    emit_scatter();
  } else if (stage_.combiner.kind == CombinerKind::None) {
    emit_plain();
  } else {
    emit_reduction();
  }
}

void NestEmitter::emit_scatter() {
  const Emitted enter = masks_->all_of(outer_rows_);
  const auto loops = [&](Carried none) {
    return shape_.reduction_begin == shape_.tile_begin
               ? accumulate(std::move(none))
               : emit_loop_at(shape_.reduction_begin, std::move(none));
  };
  if (enter.value) {
    emit_if(builder_, scopes_, enter.value, {}, loops);
  } else {
    loops({});
  }
}

// No reduction: every copy is one (vector of) points; a point that the rows exclude is 0. Tiles
// with no point or with points only inside the rows have versions of their own.
void NestEmitter::emit_plain() {
  const auto version = [&](Border border) {
    return [&, border](Carried none) {
      emit_plain_copies(asked_rows(border));
      return none;
    };
  };
  const auto some = [&](Carried none) {
    if (!has_interior()) return version(Border::Any)(std::move(none));
    Value* inside = builder_.CreateAnd(is_interior(false), is_interior(true));
    return emit_either(builder_, scopes_, inside, std::move(none), version(Border::None),
                       version(Border::Any));
  };
  const Emitted any = has_results();
  if (!any.value) {
    some({});
    return;
  }
  emit_either(builder_, scopes_, any.value, {}, some, [&](Carried none) {
    store_zeros();
    return none;
  });
}

void NestEmitter::store_zeros() {
  const std::vector<TileInstance> all = shape_.instances(tile_limit_, false);
  for (size_t k = 0; k < stage_.bodies.size(); ++k) {
    llvm::Type* type = register_type(builder_, program_.graph.info(stage_.results[k]).dtype);
    if (shape_.lane_loop) type = llvm::FixedVectorType::get(type, shape_.lanes);
    Value* zero = llvm::Constant::getNullValue(type);
    for (const TileInstance& copy : all) {
      masks_->select(copy);
      stores_->store_result(k, zero, copy);
    }
  }
}

void NestEmitter::emit_plain_copies(const Constraints& asked) {
  body_->set_copy_trips(shape_.instance_trips(tile_limit_));
  body_->set_rows_hold(asked.empty());
  const std::vector<TileInstance> all = shape_.instances(tile_limit_, false);
  std::vector<bool> in_rows(stage_.bodies.size());
  for (size_t k = 0; k < in_rows.size(); ++k) in_rows[k] = stores_->results_in_rows(k).has_value();
  std::vector<Carried> kept(stage_.bodies.size());  // of results that go in rows
  CopySequence sequence(builder_);
  for (const TileInstance& copy : all) {
    sequence.mark();
    count_copy();
    masks_->select(copy);
    const Emitted inside_rows = masks_->both(masks_->all_of(outer_rows_), masks_->all_of(asked));
    const Point point{copy.number, masks_->both(inside_rows, masks_->first_lanes(copy.live_lanes))};
    for (size_t k = 0; k < stage_.bodies.size(); ++k) {
      Emitted value = (*body_)(stage_.bodies[k], point);
      if (shape_.lane_loop) value.value = body_->splat(value);
      if (inside_rows.value) {
        Value* keep = inside_rows.value;
        if (shape_.lane_loop) keep = body_->splat(inside_rows);
        value.value = builder_.CreateSelect(keep, value.value,
                                            llvm::Constant::getNullValue(value.value->getType()));
      }
      if (in_rows[k]) {
        kept[k].push_back(value.value);
      } else {
        stores_->store_result(k, value.value, copy);
      }
    }
  }
  sequence.mark();
  sequence.interleave();
  for (size_t k = 0; k < kept.size(); ++k)
    if (!kept[k].empty()) stores_->store_results(k, all, kept[k]);
}

void NestEmitter::emit_reduction() {
  const std::vector<TileInstance> outputs = shape_.instances(tile_limit_, false);
  const Emitted enter = masks_->both(masks_->all_of(outer_rows_), has_results());
  Carried accumulators = initial_accumulators(outputs);
  const auto loops = [&](Carried carried) {
    if (shape_.empty_reduction) return carried;
    return shape_.reduction_begin == shape_.tile_begin
               ? accumulate(std::move(carried))
               : emit_loop_at(shape_.reduction_begin, std::move(carried));
  };
  accumulators = enter.value
                     ? emit_if(builder_, scopes_, enter.value, std::move(accumulators), loops)
                     : loops(std::move(accumulators));
  if (!stage_.running) finish(outputs, accumulators);
}

// Whether the reduction loops outside the accumulators are at their first iteration.
Value* NestEmitter::is_first_pass() {
  Affine done;
  for (size_t k = 0; k < shape_.reduction_begin; ++k)
    if (shape_.is_reduction(nest_.loops[k])) done += Affine::variable(nest_.loops[k].variable);
  return index_.equals_zero(index_.resolve(done));
}

// Whether they leave no point to a later iteration.
Value* NestEmitter::is_last_pass() {
  Value* last = builder_.getTrue();
  for (size_t axis = stage_.domain.output_rank; axis < stage_.domain.rank(); ++axis) {
    Affine behind(-nest_.spans[axis]);
    int64_t step = nest_.spans[axis];
    for (size_t k = 0; k < shape_.reduction_begin; ++k) {
      if (nest_.loops[k].axis != axis) continue;
      behind += Affine::variable(nest_.loops[k].variable);
      step = nest_.loops[k].step;
    }
    last = builder_.CreateAnd(last, index_.at_least_zero(index_.resolve(behind + Affine(step))));
  }
  return last;
}

// Accumulators are ordered by output copy, then by chain, then by component. With a reduction loop
// outside, all but its first iteration go on from the stored partial result.
Carried NestEmitter::initial_accumulators(const std::vector<TileInstance>& outputs) {
  const size_t chains = shape_.chain_count(tile_limit_);
  Value* first = is_first_pass();
  const bool resumes = first != builder_.getTrue();
  Carried accumulators;
  for (const TileInstance& copy : outputs)
    for (size_t chain = 0; chain < chains; ++chain)
      for (size_t k = 0; k < stage_.bodies.size(); ++k) {
        Value* start = combiner_.identity(k);
        if (shape_.lane_loop) start = builder_.CreateVectorSplat(shape_.lanes, start);
        if (resumes && chain == 0) {
          Value* stored = stores_->load_result(k, copy);
          if (shape_.lanes_in_reduction())
            stored = builder_.CreateInsertElement(start, stored, uint64_t{0});
          start = builder_.CreateSelect(first, start, stored);
        }
        accumulators.push_back(start);
      }
  return accumulators;
}

void NestEmitter::finish(const std::vector<TileInstance>& outputs, const Carried& accumulators) {
  const size_t components = stage_.bodies.size();
  const size_t chains = accumulators.size() / components / outputs.size();
  std::vector<Partial> partials;
  for (size_t o = 0; o < outputs.size(); ++o) {
    std::vector<Partial> tree;
    for (size_t chain = 0; chain < chains; ++chain) {
      const auto begin =
          accumulators.begin() + static_cast<long>((o * chains + chain) * components);
      tree.emplace_back(begin, begin + static_cast<long>(components));
    }
    // A fixed tree over the chains, then over the lanes.
    for (size_t stride = 1; stride < chains; stride *= 2)
      for (size_t chain = 0; chain + stride < chains; chain += 2 * stride)
        tree[chain] = combiner_.combine(tree[chain], tree[chain + stride]);
    partials.push_back(std::move(tree[0]));
  }
  if (shape_.lanes_in_reduction()) {
    finish_folded(outputs, std::move(partials));
    return;
  }
  finish(outputs, std::move(partials));
}

// Lanes of results that lie one behind the other are folded and stored together.
void NestEmitter::finish_folded(const std::vector<TileInstance>& outputs,
                                std::vector<Partial> partials) {
  std::vector<TileInstance> apart;
  std::vector<Partial> scalars;
  for (size_t begin = 0; begin < outputs.size();) {
    const size_t count = std::bit_floor(std::min<size_t>(outputs.size() - begin, shape_.lanes));
    const auto from = partials.begin() + static_cast<long>(begin);
    const Partial folded = combiner_.fold_lanes({from, from + static_cast<long>(count)});
    const std::span<const TileInstance> copies(outputs.data() + begin, count);
    begin += count;
    if (!combiner_.marks_empty() && stores_->store_folded(copies, folded, result_rows_)) continue;
    for (size_t o = 0; o < count; ++o) {
      Partial scalar;
      for (Value* component : folded)
        scalar.push_back(builder_.CreateExtractElement(component, uint64_t{o}));
      apart.push_back(copies[o]);
      scalars.push_back(std::move(scalar));
    }
  }
  if (!apart.empty()) finish(apart, std::move(scalars));
}

void NestEmitter::finish(const std::vector<TileInstance>& outputs, std::vector<Partial> partials) {
  const size_t components = stage_.bodies.size();
  std::vector<Carried> results(components);
  for (size_t o = 0; o < outputs.size(); ++o) {
    masks_->select(outputs[o]);
    if (const Emitted there = masks_->all_of(result_rows_); there.value)
      for (size_t k = 0; k < components; ++k)
        partials[o][k] = or_identity(there, partials[o][k], k);
    if (combiner_.marks_empty()) partials[o][1] = without_mark(partials[o][1]);
    for (size_t k = 0; k < components; ++k) results[k].push_back(partials[o][k]);
  }
  for (size_t k = 0; k < components; ++k) stores_->store_results(k, outputs, results[k]);
}

// The value where the mask holds, else what a reduction over nothing gives.
Value* NestEmitter::or_identity(const Emitted& mask, Value* value, size_t component) {
  Value* identity = combiner_.identity(component);
  Value* condition = mask.value;
  if (value->getType()->isVectorTy()) {
    identity = builder_.CreateVectorSplat(shape_.lanes, identity);
    condition = body_->splat(mask);
  }
  return builder_.CreateSelect(condition, value, identity);
}

// A payload that no point has given is 0, but only once no point can come any more.
Value* NestEmitter::without_mark(Value* payload) {
  Value* none = builder_.CreateICmpEQ(payload, no_payload(payload->getType()));
  Value* replaced =
      builder_.CreateSelect(none, llvm::Constant::getNullValue(payload->getType()), payload);
  return builder_.CreateSelect(is_last_pass(), replaced, payload);
}

}  // namespace adjit::emit
