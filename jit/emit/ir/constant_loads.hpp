// jit/emit/ir/constant_loads.hpp -- loads of memory that nothing writes while a kernel runs.
#pragma once

#include <vector>

#include <llvm/IR/Function.h>

namespace adjit::emit {

/// Says of each load from a parameter of these that its memory stays as it is: the back end makes
/// one load of two of one element, whatever stands between them (a barrier, say). `constant`: per
/// parameter. Loads of more than 16 bytes stay as they are.
void mark_constant_loads(llvm::Function& function, const std::vector<bool>& constant);

}  // namespace adjit::emit
