// jit/emit/operations/operations.hpp -- one scalar operation as machine code (see op.hpp for the
// meanings).
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/IR/IRBuilder.h>

#include "jit/emit/math/vector_math.hpp"
#include "runtime/expr/dtype.hpp"
#include "runtime/expr/op.hpp"

namespace adjit::emit {

/// Emits `op` at the builder's position on values of one kind (all scalars or all vectors of equal
/// length; Bool is i1). `operand` is the operands' dtype (of the last for Select, of the source for
/// Cast), `result` the node's.
llvm::Value* emit_operation(llvm::IRBuilder<>& builder, VectorMath& math, Op op, DType operand,
                            DType result, llvm::ArrayRef<llvm::Value*> values);

}  // namespace adjit::emit
