// jit/emit/tile/exchange.cpp -- shuffles, and an array in the block's memory for each value.
#include "jit/emit/tile/exchange.hpp"

#include <algorithm>

#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

namespace adjit::emit {
namespace {

using llvm::Value;

// Memory has no elements of one bit.
llvm::Type* in_memory(llvm::Type* type) {
  return type->getScalarSizeInBits() == 1 ? type->getWithNewBitWidth(8) : type;
}

Value* shuffled_word(llvm::IRBuilder<>& builder, Shuffle kind, Value* word, Value* lanes) {
  constexpr uint32_t kAllLanes = 0xffffffff, kFirstLane = 0,
                     kLastLane = 31;  // PTX ISA, "shfl.sync"
  const llvm::Intrinsic::ID id = kind == Shuffle::FromBelow ? llvm::Intrinsic::nvvm_shfl_sync_up_i32
                                 : kind == Shuffle::Down ? llvm::Intrinsic::nvvm_shfl_sync_down_i32
                                                         : llvm::Intrinsic::nvvm_shfl_sync_idx_i32;
  const uint32_t end = kind == Shuffle::FromBelow ? kFirstLane : kLastLane;
  return builder.CreateIntrinsic(id, {},
                                 {builder.getInt32(kAllLanes), word, lanes, builder.getInt32(end)});
}

}  // namespace

Value* number_of(llvm::IRBuilder<>& builder, int64_t number) {
  return builder.getInt32(static_cast<uint32_t>(number));
}

Value* shuffled(llvm::IRBuilder<>& builder, Shuffle kind, Value* value, Value* lanes) {
  llvm::Type* type = value->getType();
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
    Value* moved = llvm::PoisonValue::get(type);
    for (uint64_t lane = 0; lane < vector->getNumElements(); ++lane)
      moved = builder.CreateInsertElement(
          moved, shuffled(builder, kind, builder.CreateExtractElement(value, lane), lanes), lane);
    return moved;
  }
  const unsigned bits = type->getScalarSizeInBits();
  llvm::Type* integer = builder.getIntNTy(bits);
  Value* word = builder.CreateBitCast(value, integer);
  if (bits <= 32) {
    Value* moved =
        shuffled_word(builder, kind, builder.CreateZExt(word, builder.getInt32Ty()), lanes);
    return builder.CreateBitCast(builder.CreateTrunc(moved, integer), type);
  }
  Value* low = shuffled_word(builder, kind, builder.CreateTrunc(word, builder.getInt32Ty()), lanes);
  Value* high =
      shuffled_word(builder, kind,
                    builder.CreateTrunc(builder.CreateLShr(word, 32), builder.getInt32Ty()), lanes);
  Value* both = builder.CreateOr(builder.CreateZExt(low, integer),
                                 builder.CreateShl(builder.CreateZExt(high, integer), 32));
  return builder.CreateBitCast(both, type);
}

ExchangedValues::ExchangedValues(const KernelContext& kernel, const Nest* own,
                                 const std::vector<Partial>& partials, int64_t elements)
    : builder_(kernel.builder) {
  const llvm::DataLayout& layout = builder_.GetInsertBlock()->getModule()->getDataLayout();
  for (const Partial& partial : partials)
    for (Value* value : partial) {
      llvm::Type* type = in_memory(value->getType());
      const uint64_t size = layout.getTypeAllocSize(type).getFixedValue();
      const int64_t bytes = elements * static_cast<int64_t>(size);
      arrays_.push_back({value->getType(), type, llvm::Align(std::min<uint64_t>(16, size & -size)),
                         own ? kernel.block->shared({own, arrays_.size()}, bytes)
                             : kernel.block->exchanged(arrays_.size(), bytes)});
    }
}

void ExchangedValues::store(const Carried& values, Value* element) const {
  for (size_t k = 0; k < values.size(); ++k) {
    const Array& array = arrays_[k];
    Value* value = values[k];
    if (array.type != array.memory) value = builder_.CreateZExt(value, array.memory);
    builder_.CreateAlignedStore(
        value, builder_.CreateInBoundsGEP(array.memory, array.pointer, element), array.align);
  }
}

Carried ExchangedValues::load(Value* element) const {
  Carried values;
  for (const Array& array : arrays_) {
    Value* value = builder_.CreateAlignedLoad(
        array.memory, builder_.CreateInBoundsGEP(array.memory, array.pointer, element),
        array.align);
    if (array.type != array.memory) value = builder_.CreateTrunc(value, array.type);
    values.push_back(value);
  }
  return values;
}

}  // namespace adjit::emit
