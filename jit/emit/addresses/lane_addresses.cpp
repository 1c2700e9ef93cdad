// jit/emit/addresses/lane_addresses.cpp -- addresses that differ between lanes, and gathers.
#include "jit/emit/addresses/lane_addresses.hpp"

#include <algorithm>
#include <optional>

#include "jit/emit/operations/memory_types.hpp"

namespace adjit::emit {
namespace {

using llvm::Value;

// Offsets of the tensor's elements from its first; nothing where they leave 60 bits.
std::optional<Interval> reach(const std::vector<int64_t>& shape, const TensorPlace& place) {
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

std::optional<Interval> reach(const BodyContext& context, TensorId tensor) {
  return reach(context.graph().info(tensor).shape, context.places[tensor]);
}

// One of the lanes' offsets as i64.
Value* offset_of_lane(llvm::IRBuilder<>& builder, Value* offsets, unsigned lane, bool forwards) {
  Value* offset = builder.CreateExtractElement(offsets, uint64_t{lane});
  return forwards ? builder.CreateZExt(offset, builder.getInt64Ty())
                  : builder.CreateSExt(offset, builder.getInt64Ty());
}

}  // namespace

Affine shared_offset(const BodyContext& context, TensorId tensor, const Affine& form) {
  if (!context.places[tensor].origin.empty()) return Affine();
  const Affine shared = context.variables.without_lanes(form);
  const Interval at = context.variables.range(shared);
  const std::optional<Interval> range = reach(context, tensor);
  return range && at.lo >= range->lo && at.hi <= range->hi ? shared : Affine();
}

bool lies_forwards(const TensorPlace& place) {
  return std::ranges::all_of(place.strides, [](int64_t s) { return s >= 0; });
}

Emitted lane_offsets(const BodyContext& context, TensorId tensor, const Address& address) {
  IndexEmitter& index = context.index;
  const KernelVariables& variables = context.variables;
  llvm::IRBuilder<>& builder = context.builder;
  const Affine& form = address.form;
  if (address.data.empty()) return {index.vector(form), variables.depth(form)};
  const std::optional<Interval> range = reach(context, tensor);
  const unsigned bits = range && range->hi - range->lo <= INT32_MAX ? 32 : 64;
  llvm::Type* type = llvm::FixedVectorType::get(builder.getIntNTy(bits), variables.lanes());
  // What is known outside most loops is added up there.
  std::vector<DataCoordinate> data = address.data;
  std::ranges::stable_sort(data, {}, [](const DataCoordinate& d) { return d.index.depth; });
  Emitted total;
  const auto add = [&](Value* term, size_t depth) {
    Value* before = total.value;
    depth = std::max(depth, total.depth);
    total = {
        before ? context.scopes.at(depth, [&] { return builder.CreateAdd(before, term); }) : term,
        depth};
  };
  for (const DataCoordinate& coordinate : data) {
    const size_t depth = coordinate.index.depth;
    Value* lanes = context.splats(coordinate.index);
    Value* scale = llvm::ConstantInt::getSigned(type, coordinate.stride);
    add(context.scopes.at(depth,
                          [&] {
                            Value* offset = builder.CreateSExtOrTrunc(lanes, type);
                            return coordinate.stride == 1 ? offset
                                                          : builder.CreateMul(offset, scale);
                          }),
        depth);
  }
  if (form != Affine()) add(index.vector(form, bits), variables.depth(form));
  return total;
}

LaneRows rows_of_lanes(const BodyContext& context, TensorId tensor, const Address& address,
                       unsigned live) {
  IndexEmitter& index = context.index;
  const KernelVariables& variables = context.variables;
  llvm::IRBuilder<>& builder = context.builder;
  const TensorPlace& place = context.places[tensor];
  const Affine& begin = address.form;
  llvm::Type* element = memory_type(builder, context.graph().info(tensor).dtype);
  std::vector<Value*> pointers;
  if (const auto stride = variables.lane_stride(begin); stride && address.data.empty()) {
    for (unsigned lane = 0; lane < live; ++lane)
      pointers.push_back(index.address(
          place.pointer, place.depth, element,
          variables.without_lanes(begin) + Affine(static_cast<int64_t>(lane) * *stride)));
    return {pointers, std::max(place.depth, variables.depth(begin))};
  }
  const Affine shared = shared_offset(context, tensor, begin);
  const Affine rest = begin - shared;
  Value* pointer = index.address(place.pointer, place.depth, element, shared);
  const bool forwards = lies_forwards(place) && variables.range(rest).lo >= 0;
  const Emitted offsets = lane_offsets(context, tensor, {rest, address.data});
  std::vector<Value*> apart;
  context.scopes.at(offsets.depth, [&] {
    for (unsigned lane = 0; lane < live; ++lane)
      apart.push_back(offset_of_lane(builder, offsets.value, lane, forwards));
    return apart.front();
  });
  const size_t depth = std::max({place.depth, variables.depth(shared), offsets.depth});
  context.scopes.at(depth, [&] {
    for (Value* offset : apart)
      pointers.push_back(builder.CreateInBoundsGEP(element, pointer, offset));
    return pointers.front();
  });
  return {pointers, depth};
}

Value* gather(llvm::IRBuilder<>& builder, const TargetFeatures& features, llvm::Type* element,
              Value* pointer, Value* offsets, Value* mask, bool forwards) {
  const llvm::Align align(element->getScalarSizeInBits() / 8);
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(offsets->getType())->getNumElements();
  auto* type = llvm::FixedVectorType::get(element, lanes);
  Value* zero = llvm::Constant::getNullValue(type);
  if (features.avx512f || (features.gpu && mask)) {
    Value* pointers = builder.CreateInBoundsGEP(element, pointer, offsets);
    return builder.CreateMaskedGather(type, pointers, align, mask, zero, "gathered");
  }
  auto* known = llvm::dyn_cast_or_null<llvm::Constant>(mask);
  if (mask && !known)
    offsets = builder.CreateSelect(mask, offsets, llvm::Constant::getNullValue(offsets->getType()));
  Value* result = zero;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    if (known && known->getAggregateElement(lane)->isNullValue()) continue;
    Value* at = builder.CreateInBoundsGEP(element, pointer,
                                          offset_of_lane(builder, offsets, lane, forwards));
    Value* loaded = builder.CreateAlignedLoad(element, at, align);
    result = builder.CreateInsertElement(result, loaded, lane);
  }
  if (mask && !known) result = builder.CreateSelect(mask, result, zero);
  result->setName("gathered");
  return result;
}

}  // namespace adjit::emit
