// jit/emit/coordinates.cpp -- indices that data decides, in 32 bits where that gives the same
// element, and the offsets that they make.
#include <algorithm>

#include "jit/emit/body.hpp"
#include "jit/emit/narrow_coordinates.hpp"

namespace adjit::emit {

using llvm::Value;

Emitted BodyEmitter::coordinate(ExprId id, const Point& point) {
  return shape_[id].narrow ? narrow(id, point) : (*this)(id, point);
}

// Towards zero, NaN to 0, limited to +-kFarCoordinate; what 64 bits do not hold to the last
// integer.
Value* BodyEmitter::truncate_narrow(Value* value) {
  const auto number = [&](double x) { return llvm::ConstantFP::get(value->getType(), x); };
  const auto integer = [&](int64_t k) { return llvm::ConstantInt::getSigned(index_type(32), k); };
  const auto limit = static_cast<double>(kFarCoordinate);
  Value* x =
      builder_.CreateSelect(builder_.CreateFCmpOLT(value, number(limit)), value, number(limit));
  x = builder_.CreateSelect(builder_.CreateFCmpOGT(x, number(-limit)), x, number(-limit));
  x = builder_.CreateSelect(builder_.CreateFCmpORD(value, value), x, number(0));
  Value* near = builder_.CreateFPToSI(x, index_type(32));
  near = builder_.CreateSelect(builder_.CreateFCmpOGE(value, number(0x1p63)), integer(INT32_MAX),
                               near);
  return builder_.CreateSelect(builder_.CreateFCmpOLE(value, number(-0x1p63)), integer(INT32_MIN),
                               near);
}

llvm::Type* BodyEmitter::index_type(unsigned bits) const {
  return llvm::FixedVectorType::get(builder_.getIntNTy(bits), index_.lanes());
}

Emitted BodyEmitter::narrow(ExprId id, const Point& point) {
  const Key key = this->key(id, point);
  if (const auto found = narrow_.find(key); found != narrow_.end())
    if (const Memo& memo = found->second; scopes_.alive(memo.emitted.depth, memo.serial))
      return memo.emitted;
  const auto made = [&]() -> Emitted {
    if (affine(id)) {
      const Affine form = place(*affine(id));
      return {index_.vector(form, 32), index_.depth(form)};
    }
    const std::span<const ExprId> operands = pool_.operands(id);
    const Op op = pool_[id].op;
    if (op == Op::Cast) {
      const Emitted operand = (*this)(operands[0], point);
      Value* value = splat(operand);
      return {scopes_.at(operand.depth, [&] { return truncate_narrow(value); }), operand.depth};
    }
    const Emitted a = narrow(operands[operands.size() - 2], point);
    const Emitted b = narrow(operands[operands.size() - 1], point);
    Emitted asked;
    if (op == Op::Select) asked = (*this)(operands[0], point);
    const size_t depth = std::max({a.depth, b.depth, asked.depth});
    Value* condition = asked.value ? splat(asked) : nullptr;
    return {scopes_.at(depth,
                       [&]() -> Value* {
                         if (op == Op::Add) return builder_.CreateAdd(a.value, b.value);
                         if (op == Op::Sub) return builder_.CreateSub(a.value, b.value);
                         Value* yes = condition;
                         if (op == Op::Min) yes = builder_.CreateICmpSLT(a.value, b.value);
                         if (op == Op::Max) yes = builder_.CreateICmpSGT(a.value, b.value);
                         return builder_.CreateSelect(yes, a.value, b.value);
                       }),
            depth};
  }();
  narrow_[key] = {made, scopes_.serial(made.depth)};
  return made;
}

// Offsets of the tensor's elements from its first; nothing where they leave 60 bits.
std::optional<Interval> BodyEmitter::reach(TensorId tensor) const {
  const TensorPlace& place = places_[tensor];
  const std::vector<int64_t>& shape = graph_.info(tensor).shape;
  try {
    Interval range{0, 0};
    for (size_t d = 0; d < shape.size(); ++d) {
      const int64_t far = checked_mul(std::max<int64_t>(shape[d] - 1, 0), place.strides[d]);
      int64_t& end = far < 0 ? range.lo : range.hi;
      end = checked_add(end, far);
    }
    checked_mul(range.hi, 8), checked_mul(range.lo, 8);
    return range;
  } catch (const Overflow&) {
    return std::nullopt;
  }
}

bool BodyEmitter::has_narrow_offsets(TensorId tensor) const {
  const std::optional<Interval> range = reach(tensor);
  return range && range->hi - range->lo <= INT32_MAX;
}

// What all lanes have in common, where a pointer to it stays inside the tensor: the offsets from
// there to elements of the tensor are then no longer than the tensor. Zero elsewhere.
Affine BodyEmitter::shared_offset(TensorId tensor, const Affine& form) const {
  if (!places_[tensor].origin.empty()) return Affine();
  const Affine shared = index_.without_lanes(form);
  const Interval at = index_.range(shared);
  const std::optional<Interval> range = reach(tensor);
  return range && at.lo >= range->lo && at.hi <= range->hi ? shared : Affine();
}

Emitted BodyEmitter::lane_offsets(TensorId tensor, const Affine& form,
                                  std::vector<std::pair<Emitted, int64_t>> data) {
  if (data.empty()) return {index_.vector(form), index_.depth(form)};
  llvm::Type* type = index_type(has_narrow_offsets(tensor) ? 32 : 64);
  // What is known outside most loops is added up there.
  std::ranges::stable_sort(data, {}, [](const auto& d) { return d.first.depth; });
  Emitted total;
  const auto add = [&](Value* term, size_t depth) {
    Value* before = total.value;
    depth = std::max(depth, total.depth);
    total = {before ? scopes_.at(depth, [&] { return builder_.CreateAdd(before, term); }) : term,
             depth};
  };
  for (const auto& [value, stride] : data) {
    Value* lanes = splat(value);
    Value* scale = llvm::ConstantInt::getSigned(type, stride);
    add(scopes_.at(value.depth,
                   [&, by = stride] {
                     Value* index = builder_.CreateSExtOrTrunc(lanes, type);
                     return by == 1 ? index : builder_.CreateMul(index, scale);
                   }),
        value.depth);
  }
  if (form != Affine()) add(index_.vector(form, type->getScalarSizeInBits()), index_.depth(form));
  return total;
}

Value* BodyEmitter::lane_offset(Value* offsets, unsigned lane, bool forwards) {
  Value* offset = builder_.CreateExtractElement(offsets, uint64_t{lane});
  return forwards ? builder_.CreateZExt(offset, builder_.getInt64Ty())
                  : builder_.CreateSExt(offset, builder_.getInt64Ty());
}

bool BodyEmitter::lies_forwards(TensorId tensor) const {
  return std::ranges::all_of(places_[tensor].strides, [](int64_t s) { return s >= 0; });
}

// Elements at offsets from a pointer, zeros where the mask (null: none) does not hold; element 0
// must be there. Before AVX-512, gathers are slow or taken apart into branches: one load a lane
// instead.
Value* BodyEmitter::gather(llvm::Type* element, Value* pointer, Value* offsets, Value* mask,
                           bool forwards) {
  const llvm::Align align(element->getScalarSizeInBits() / 8);
  auto* type = llvm::FixedVectorType::get(element, index_.lanes());
  Value* zero = llvm::Constant::getNullValue(type);
  if (math_.features().avx512f) {
    Value* pointers = builder_.CreateInBoundsGEP(element, pointer, offsets);
    return builder_.CreateMaskedGather(type, pointers, align, mask, zero, "gathered");
  }
  auto* known = llvm::dyn_cast_or_null<llvm::Constant>(mask);
  if (mask && !known)
    offsets =
        builder_.CreateSelect(mask, offsets, llvm::Constant::getNullValue(offsets->getType()));
  Value* result = zero;
  for (unsigned lane = 0; lane < index_.lanes(); ++lane) {
    if (known && known->getAggregateElement(lane)->isNullValue()) continue;
    Value* at = builder_.CreateInBoundsGEP(element, pointer, lane_offset(offsets, lane, forwards));
    Value* loaded = builder_.CreateAlignedLoad(element, at, align);
    result = builder_.CreateInsertElement(result, loaded, lane);
  }
  if (mask && !known) result = builder_.CreateSelect(mask, result, zero);
  result->setName("gathered");
  return result;
}

}  // namespace adjit::emit
