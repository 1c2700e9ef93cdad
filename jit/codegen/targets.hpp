// jit/codegen/targets.hpp -- the code generators of LLVM, made ready for use.
#pragma once

#include "runtime/process/rooms.hpp"

namespace adjit::codegen {

/// Registers the code generators that there are, x86's and NVPTX's, once in a process; from then on
/// what LLVM calls fatal is thrown as ErrorCode::Compile, and memory that it lacks as
/// std::bad_alloc. Any thread.
void register_targets();

}  // namespace adjit::codegen
