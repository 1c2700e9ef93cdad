// jit/cpu/long_blocks.hpp -- straight-line code in blocks that LLVM compiles in linear time.
#pragma once

#include "runtime/process/rooms.hpp"

namespace llvm {
class Module;
}

namespace adjit::cpu {

/// Cuts blocks into parts of so many instructions, the last of which has up to twice as many; phis
/// do not count. In linear time. The selection of
/// instructions orders one block at a time: where many of its instructions use the flags, as
/// conditions on indices do, that takes the square of their number. Arrays that are joined of a
/// thousand parts have such blocks. For modules that are compiled at CodegenLevel::Fast, where what
/// passes between blocks lies in memory; other levels would join the parts again.
void cut_long_blocks(llvm::Module& module, unsigned instructions);

}  // namespace adjit::cpu
