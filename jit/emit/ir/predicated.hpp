// jit/emit/ir/predicated.hpp -- additions that a condition switches off, for GPUs.
//
// Of a choice between a sum and the sum with one more term, ptxas makes two instructions (FFMA,
// FSEL); PTX can say that one instruction takes place where a predicate holds, which LLVM's IR
// cannot.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "jit/emit/ir/target.hpp"

namespace adjit::emit {

/// sum + value where `keep` holds (i1, or one for each lane), and else `sum`. Both are floats or
/// doubles, or vectors of one type of these.
llvm::Value* add_where(llvm::IRBuilder<>& builder, const TargetFeatures& features,
                       llvm::Value* keep, llvm::Value* value, llvm::Value* sum);

/// a * b + sum, rounded once, where `keep` holds, and else `sum`. Likewise.
llvm::Value* multiply_add_where(llvm::IRBuilder<>& builder, const TargetFeatures& features,
                                llvm::Value* keep, llvm::Value* a, llvm::Value* b,
                                llvm::Value* sum);

}  // namespace adjit::emit
