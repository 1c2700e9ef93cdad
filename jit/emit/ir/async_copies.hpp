// jit/emit/ir/async_copies.hpp -- what goes from a GPU's memory to that of a block, without a
// register on the way.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "jit/emit/ir/emitted_code.hpp"

namespace adjit::emit {

/// Replaces what the code stores in shared memory and has just loaded from global memory, or zeros
/// in place of some of it, by asynchronous copies (cp.async, PTX ISA 9.7.9.25) of 4, 8 or 16 bytes,
/// as alignments allow. Stores of anything else stay, and those of parts of what was loaded in one
/// access: one load and some stores take less time than as many copies.
void replace_by_copies(llvm::IRBuilder<>& builder, const EmittedCode& code);

/// Those that this thread has begun since the last group become a group.
void commit_copies(llvm::IRBuilder<>& builder);
/// Waits until all but the last `left` groups of this thread's copies are done.
void wait_for_copies(llvm::IRBuilder<>& builder, int64_t left);

}  // namespace adjit::emit
