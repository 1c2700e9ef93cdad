// jit/emit/operations/truncation.hpp -- floats as integers on a GPU.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace adjit::emit {

/// Towards zero as a 32- or 64-bit integer: what is too large or too small becomes the last one,
/// NaN becomes 0. One instruction, and one more for what it makes of some NaN: the conversions of
/// PTX saturate, but for the IR's own ones, which promise nothing.
llvm::Value* truncated_on_gpu(llvm::IRBuilder<>& builder, llvm::Value* value, llvm::Type* type);

}  // namespace adjit::emit
