// jit/emit/loads/load_windows.hpp -- lanes that few vectors of memory hold.
#pragma once

#include <vector>

#include <llvm/IR/IRBuilder.h>

#include "jit/emit/ir/target.hpp"
#include "jit/emit/shape/lane_windows.hpp"

namespace adjit::emit {

/// The element of each lane, of windows that begin at these pointers. Where there is a mask (of
/// lanes), what no live lane wants is not read, and lanes that are off are 0.
llvm::Value* load_windows(llvm::IRBuilder<>& builder, const TargetFeatures& features,
                          llvm::FixedVectorType* type, const std::vector<llvm::Value*>& pointers,
                          llvm::Align align, const LaneWindows& windows, llvm::Value* mask);

}  // namespace adjit::emit
