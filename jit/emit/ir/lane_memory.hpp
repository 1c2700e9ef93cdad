// jit/emit/ir/lane_memory.hpp -- vectors of which some lanes come from memory or go there.
#pragma once

#include <optional>

#include <llvm/IR/IRBuilder.h>

#include "jit/emit/ir/target.hpp"

namespace adjit::emit {

/// How many leading lanes a mask keeps, if it is a constant and these are all that it keeps.
std::optional<unsigned> leading_lanes(const llvm::Value* mask);

/// The lanes of the mask, of elements side by side; the others are 0 and touch nothing. Vectors
/// wider than the registers are loaded register by register: LLVM 19 loads all lanes of a part
/// whose lanes it knows to be off.
llvm::Value* load_lanes(llvm::IRBuilder<>& builder, const TargetFeatures& features,
                        llvm::FixedVectorType* type, llvm::Value* pointer, llvm::Align align,
                        llvm::Value* mask);

/// A number, or a vector, of memory where a condition holds, else 0: nothing is touched then. For a
/// GPU, which branches around it; code for a CPU reads something else instead.
llvm::Value* load_where(llvm::IRBuilder<>& builder, llvm::Type* type, llvm::Value* pointer,
                        llvm::Align align, llvm::Value* condition);

/// Stores the lanes of the mask. Lanes that are known to be the first few go as pieces of a power
/// of two each: without mask registers a masked store is a microprogram on some processors (42
/// operations on Zen 3).
void store_lanes(llvm::IRBuilder<>& builder, const TargetFeatures& features, llvm::Value* value,
                 llvm::Value* pointer, llvm::Align align, llvm::Value* mask);

}  // namespace adjit::emit
