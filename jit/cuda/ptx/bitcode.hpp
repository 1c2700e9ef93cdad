// jit/cuda/ptx/bitcode.hpp -- a module as the bitcode that a driver may take in place of a cubin.
#pragma once

#include <string>

namespace llvm {
class Module;
}

namespace adjit::cuda {

/// In LLVM's wrapper, which says how long it is (Driver::takes_bitcode).
std::string wrapped_bitcode(const llvm::Module& module);

}  // namespace adjit::cuda
