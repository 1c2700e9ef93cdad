// jit/emit/ir/constant_loads.hpp -- loads of memory that nothing writes while a kernel runs.
#pragma once

#include <vector>

#include <llvm/IR/Function.h>

namespace adjit::emit {

/// Says of each load from a parameter of these that its memory stays as it is: of two loads of one
/// element the back end leaves one, whatever stands between them (a barrier, say). `constant`: per
/// parameter.
void mark_constant_loads(llvm::Function& function, const std::vector<bool>& constant);

}  // namespace adjit::emit
