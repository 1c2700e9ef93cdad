// tests/gpu_emulator/intrinsics.hpp -- what NVVM's intrinsics do, as functions of the host.
#pragma once

#include <string>

namespace adjit::tests {

/// Of "llvm.nvvm." + name, with the same parameters; null: not emulated.
const void* intrinsic_of_host(const std::string& name);

}  // namespace adjit::tests
