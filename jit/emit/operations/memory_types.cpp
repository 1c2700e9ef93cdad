// jit/emit/operations/memory_types.cpp -- numbers of a dtype in registers and in memory.
#include "jit/emit/operations/memory_types.hpp"

namespace adjit::emit {

using llvm::Value;

llvm::Type* register_type(llvm::IRBuilder<>& builder, DType dtype) {
  switch (dtype) {
    case DType::Bool: return builder.getInt1Ty();
    case DType::Float16:
    case DType::BFloat16:
    case DType::Float32: return builder.getFloatTy();
    case DType::Float64: return builder.getDoubleTy();
    default: return builder.getIntNTy(static_cast<unsigned>(8 * size_of(dtype)));
  }
}

llvm::Type* memory_type(llvm::IRBuilder<>& builder, DType dtype) {
  switch (dtype) {
    case DType::Bool: return builder.getInt8Ty();
    case DType::Float16:
    case DType::BFloat16: return builder.getInt16Ty();
    default: return register_type(builder, dtype);
  }
}

Value* from_memory(llvm::IRBuilder<>& builder, VectorMath& math, Value* value, DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return builder.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
    case DType::Float16: return math.extend_half(value);
    case DType::BFloat16: return math.extend_bfloat(value);
    default: return value;
  }
}

Value* to_memory(llvm::IRBuilder<>& builder, VectorMath& math, Value* value, DType dtype) {
  switch (dtype) {
    case DType::Bool: {
      llvm::Type* type = builder.getInt8Ty();
      if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType()))
        type = llvm::FixedVectorType::get(type, vector->getNumElements());
      return builder.CreateZExt(value, type);
    }
    case DType::Float16: return math.truncate_half(value);
    case DType::BFloat16: return math.truncate_bfloat(value);
    default: return value;
  }
}

}  // namespace adjit::emit
