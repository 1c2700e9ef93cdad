// jit/emit/math/half.hpp -- float16 and bfloat16, held as i16, to and from float.
#pragma once

#include "jit/emit/ir/lanes.hpp"

namespace adjit::emit {

llvm::Value* extend_half(const LaneContext& context, llvm::Value* bits);
llvm::Value* extend_bfloat(const LaneContext& context, llvm::Value* bits);
/// Float or double to float16, rounded once.
llvm::Value* truncate_half(Floats value);
/// Float to bfloat16; a double is rounded to float first.
llvm::Value* truncate_bfloat(Floats value);

}  // namespace adjit::emit
