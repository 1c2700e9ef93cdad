// jit/emit/scatter.cpp -- the points of a lowered scatter (autosched/lower_scatters.hpp): each
// reads, combines and writes the element that its target names.
#include <algorithm>

#include "autosched/nests.hpp"
#include "jit/emit/nest.hpp"
#include "runtime/expr/interval.hpp"

namespace adjit {

using llvm::Value;

void NestEmitter::emit_scatter() {
  const Emitted enter = rows_mask(outer_rows_);
  const auto loops = [&](Carried none) {
    return reduction_begin_ == tile_begin_ ? accumulate(std::move(none))
                                           : emit_loop_at(reduction_begin_, std::move(none));
  };
  if (enter.value) {
    emit_if(builder_, scopes_, enter.value, {}, loops);
  } else {
    loops({});
  }
}

void NestEmitter::scatter_copies() {
  for (const Copy& copy : copies(true)) {
    count_copy();
    select_copy(copy);
    const Emitted rows = rows_mask(tile_rows_);
    const Emitted tail = tail_mask(copy.live_lanes);
    scatter_point({copy.number, both(rows, tail)});
  }
}

void NestEmitter::scatter_point(const Point& point) {
  const TensorPlace& place = context_.places[stage_.results[0].value];
  Affine form;
  std::vector<std::pair<Emitted, int64_t>> data;
  Emitted uniform, lanes;  // what must hold: for all lanes, for each
  const auto require = [&](const Emitted& condition) {
    if (!condition.value) return;
    Emitted& kind = condition.value->getType()->isVectorTy() ? lanes : uniform;
    kind = both(kind, condition);
  };
  require(point.active);
  for (size_t d = 0; d < stage_.target.size(); ++d) {
    if (const std::optional<Affine> affine = body_->placed_form(stage_.target[d])) {
      form += *affine * place.strides[d];
      continue;
    }
    const Emitted index = body_->coordinate(stage_.target[d], point);
    data.emplace_back(index, place.strides[d]);
    const auto range = interval_of(program_.graph.pool, stage_.target[d], stage_.domain.extents);
    if (range && range->lo >= 0) continue;
    Value* zero = llvm::Constant::getNullValue(index.value->getType());
    require({scopes_.at(index.depth, [&] { return builder_.CreateICmpSGE(index.value, zero); }),
             index.depth});
  }
  const auto write = [&](Carried none) {
    combine_at(point, form, data, lanes);
    return none;
  };
  if (uniform.value) {
    emit_if(builder_, scopes_, uniform.value, {}, write);
  } else {
    write({});
  }
}

void NestEmitter::combine_at(const Point& point, const Affine& form,
                             const std::vector<std::pair<Emitted, int64_t>>& data,
                             const Emitted& mask) {
  const TensorPlace& place = context_.places[stage_.results[0].value];
  const DType dtype = program_.graph.info(stage_.results[0]).dtype;
  llvm::Type* element = body_->memory_type(dtype);
  const llvm::Align align(size_of(dtype));
  const Emitted value = (*body_)(stage_.bodies[0], point);
  const auto combined = [&](Value* before, Value* now) {
    if (stage_.combiner.kind == CombinerKind::None) return body_->to_memory(now, dtype);
    return body_->to_memory(combiner_.combine({body_->from_memory(before, dtype)}, {now})[0],
                            dtype);
  };
  const bool in_lanes = std::ranges::any_of(
      data, [](const auto& d) { return d.first.value->getType()->isVectorTy(); });
  // The address of lane 0, without the coordinates that differ between lanes.
  Value* pointer = index_.address(place.pointer, place.depth, element, form);
  for (const auto& [index, stride] : data)
    if (!index.value->getType()->isVectorTy())
      pointer = builder_.CreateInBoundsGEP(
          element, pointer,
          builder_.CreateMul(index.value, builder_.getInt64(static_cast<uint64_t>(stride))));
  if (!lane_loop_) {
    Value* before = builder_.CreateAlignedLoad(element, pointer, align);
    builder_.CreateAlignedStore(combined(before, value.value), pointer, align);
    return;
  }
  auto* type = llvm::FixedVectorType::get(element, lanes_);
  Value* zero = llvm::Constant::getNullValue(type);
  Value* active =
      mask.value
          ? body_->splat(mask)
          : llvm::ConstantInt::getTrue(llvm::FixedVectorType::get(builder_.getInt1Ty(), lanes_));
  Value* now = body_->splat(value);
  const auto offsets = [&] { return body_->lane_offsets(stage_.results[0], form, data).value; };
  if (!writes_apart(program_.graph, stage_, nest_.loops[*lane_loop_].axis)) {
    combine_in_turn(offsets(), now, mask.value ? active : nullptr, combined);
    return;
  }
  if (!in_lanes && index_.lane_stride(form) == 1) {
    if (!mask.value) {
      Value* before = builder_.CreateAlignedLoad(type, pointer, align);
      builder_.CreateAlignedStore(combined(before, now), pointer, align);
      return;
    }
    Value* before = builder_.CreateMaskedLoad(type, pointer, align, active, zero);
    store_lanes(combined(before, now), pointer, align, active);
    return;
  }
  Value* pointers = builder_.CreateInBoundsGEP(element, place.pointer, offsets());
  Value* before = builder_.CreateMaskedGather(type, pointers, align, active, zero);
  builder_.CreateMaskedScatter(combined(before, now), pointers, align, active);
}

// Lanes that may write one element: one after the other, as their points come.
void NestEmitter::combine_in_turn(Value* offsets, Value* now, Value* active,
                                  const std::function<Value*(Value*, Value*)>& combined) {
  const TensorPlace& place = context_.places[stage_.results[0].value];
  const DType dtype = program_.graph.info(stage_.results[0]).dtype;
  llvm::Type* element = body_->memory_type(dtype);
  const llvm::Align align(size_of(dtype));
  const bool forwards = body_->lies_forwards(stage_.results[0]);
  for (unsigned lane = 0; lane < lanes_; ++lane) {
    const auto write = [&](Carried none) {
      Value* pointer = builder_.CreateInBoundsGEP(element, place.pointer,
                                                  body_->lane_offset(offsets, lane, forwards));
      Value* before = builder_.CreateAlignedLoad(element, pointer, align);
      builder_.CreateAlignedStore(
          combined(before, builder_.CreateExtractElement(now, uint64_t{lane})), pointer, align);
      return none;
    };
    if (active) {
      emit_if(builder_, scopes_, builder_.CreateExtractElement(active, uint64_t{lane}), {}, write);
    } else {
      write({});
    }
  }
}

}  // namespace adjit
