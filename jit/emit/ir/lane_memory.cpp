// jit/emit/ir/lane_memory.cpp -- loads and stores under masks.
#include "jit/emit/ir/lane_memory.hpp"

#include <array>
#include <bit>
#include <numeric>

namespace adjit::emit {

using llvm::Value;

namespace {

// Of element `first` behind an address.
llvm::Align align_behind(llvm::Align align, const llvm::Type* vector, uint64_t first) {
  const uint64_t bits = vector->getScalarSizeInBits();
  return llvm::commonAlignment(align, first * bits / 8);
}

}  // namespace

std::optional<unsigned> leading_lanes(const Value* mask) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(mask);
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(mask->getType());
  if (!constant || !type) return std::nullopt;
  const unsigned lanes = type->getNumElements();
  unsigned leading = 0;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const llvm::Constant* bit = constant->getAggregateElement(lane);
    if (!bit || (bit->isOneValue() && leading != lane)) return std::nullopt;
    if (!bit->isOneValue() && !bit->isNullValue()) return std::nullopt;
    leading += bit->isOneValue();
  }
  return leading;
}

Value* load_lanes(llvm::IRBuilder<>& builder, const TargetFeatures& features,
                  llvm::FixedVectorType* type, Value* pointer, llvm::Align align, Value* mask) {
  Value* zero = llvm::Constant::getNullValue(type);
  const unsigned lanes = type->getNumElements();
  if (const auto* known = llvm::dyn_cast<llvm::Constant>(mask); known && known->isNullValue())
    return zero;
  if (type->getPrimitiveSizeInBits() <= static_cast<unsigned>(features.vector_bits))
    return builder.CreateMaskedLoad(type, pointer, align, mask, zero);
  auto* half = llvm::FixedVectorType::get(type->getElementType(), lanes / 2);
  std::array<Value*, 2> halves;
  llvm::SmallVector<int, 64> all;
  for (const unsigned first : {0u, lanes / 2}) {
    llvm::SmallVector<int, 64> some;
    for (unsigned lane = 0; lane < lanes / 2; ++lane)
      some.push_back(static_cast<int>(first + lane));
    Value* from = builder.CreateConstInBoundsGEP1_64(type->getElementType(), pointer, first);
    halves[first > 0] = load_lanes(builder, features, half, from, align_behind(align, half, first),
                                   builder.CreateShuffleVector(mask, some));
    all.append(some);
  }
  return builder.CreateShuffleVector(halves[0], halves[1], all);
}

// One lane under a mask, which the back end makes a branch and a load of: here it stays one
// instruction, that may be put wherever its operands are known.
Value* load_where(llvm::IRBuilder<>& builder, llvm::Type* type, Value* pointer, llvm::Align align,
                  Value* condition) {
  if (type->isVectorTy()) {
    // The lanes as one, or there would be a branch for each.
    const auto bits = static_cast<unsigned>(type->getPrimitiveSizeInBits().getFixedValue());
    llvm::Type* together = builder.getIntNTy(bits);
    return builder.CreateBitCast(load_where(builder, together, pointer, align, condition), type);
  }
  auto* lane = llvm::FixedVectorType::get(type, 1);
  Value* mask =
      builder.CreateBitCast(condition, llvm::FixedVectorType::get(builder.getInt1Ty(), 1));
  Value* zero = llvm::Constant::getNullValue(lane);
  Value* loaded = builder.CreateMaskedLoad(lane, pointer, align, mask, zero);
  return builder.CreateExtractElement(loaded, uint64_t{0});
}

void store_lanes(llvm::IRBuilder<>& builder, const TargetFeatures& features, Value* value,
                 Value* pointer, llvm::Align align, Value* mask) {
  const std::optional<unsigned> leading = leading_lanes(mask);
  if (!leading || features.avx512vl) {
    builder.CreateMaskedStore(value, pointer, align, mask);
    return;
  }
  llvm::Type* element = llvm::cast<llvm::VectorType>(value->getType())->getElementType();
  for (unsigned first = 0; first < *leading;) {
    const unsigned lanes = std::bit_floor(*leading - first);
    llvm::SmallVector<int, 64> piece(lanes);
    std::iota(piece.begin(), piece.end(), static_cast<int>(first));
    Value* part = lanes == 1 ? builder.CreateExtractElement(value, uint64_t{first})
                             : builder.CreateShuffleVector(value, piece);
    builder.CreateAlignedStore(part, builder.CreateConstInBoundsGEP1_64(element, pointer, first),
                               align_behind(align, value->getType(), first));
    first += lanes;
  }
}

}  // namespace adjit::emit
