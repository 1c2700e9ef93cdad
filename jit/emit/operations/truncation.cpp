// jit/emit/operations/truncation.cpp -- conversions of PTX.
#include "jit/emit/operations/truncation.hpp"

#include <llvm/IR/IntrinsicsNVPTX.h>

namespace adjit::emit {

llvm::Value* truncated_on_gpu(llvm::IRBuilder<>& builder, llvm::Value* value, llvm::Type* type) {
  const bool is_wide = type->isIntegerTy(64), is_double = value->getType()->isDoubleTy();
  llvm::Intrinsic::ID id = is_wide ? llvm::Intrinsic::nvvm_f2ll_rz : llvm::Intrinsic::nvvm_f2i_rz;
  if (is_double) id = is_wide ? llvm::Intrinsic::nvvm_d2ll_rz : llvm::Intrinsic::nvvm_d2i_rz;
  llvm::Value* result = builder.CreateIntrinsic(id, {}, {value});
  // NaN of a float is 0 as a 32-bit integer, else the integer whose highest bit alone is set.
  if (!is_wide && !is_double) return result;
  return builder.CreateSelect(builder.CreateFCmpUNO(value, value), llvm::ConstantInt::get(type, 0),
                              result);
}

}  // namespace adjit::emit
