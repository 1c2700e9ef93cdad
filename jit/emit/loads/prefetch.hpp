// jit/emit/loads/prefetch.hpp -- fetching what a loop reads later.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "runtime/expr/affine.hpp"

namespace adjit::emit {

/// Fetches what the next iteration of a loop reads where a whole vector is read now, once a line;
/// where iterations are neighbours, what a later one reads. `pointer`: to the element at `first`,
/// over the kernel's variables, of which `loop` is the loop's.
void fetch_ahead(llvm::IRBuilder<>& builder, llvm::FixedVectorType* type, llvm::Value* pointer,
                 const Affine& first, size_t loop);

}  // namespace adjit::emit
