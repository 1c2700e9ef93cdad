// jit/emit/operations/memory_types.hpp -- numbers of a dtype in registers and in memory.
//
// Bool is i1 in a register and a byte in memory; half types are computed with as float.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "jit/emit/math/vector_math.hpp"
#include "runtime/expr/dtype.hpp"

namespace adjit::emit {

llvm::Type* register_type(llvm::IRBuilder<>& builder, DType dtype);
llvm::Type* memory_type(llvm::IRBuilder<>& builder, DType dtype);

/// What was loaded, and what is stored, of a value in a register: a number or a vector of them.
llvm::Value* from_memory(llvm::IRBuilder<>& builder, VectorMath& math, llvm::Value* value,
                         DType dtype);
llvm::Value* to_memory(llvm::IRBuilder<>& builder, VectorMath& math, llvm::Value* value,
                       DType dtype);

}  // namespace adjit::emit
