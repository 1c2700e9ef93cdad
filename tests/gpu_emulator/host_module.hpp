// tests/gpu_emulator/host_module.hpp -- a module for NVPTX made one for the host.
#pragma once

#include <llvm/IR/Module.h>

#include <cstdint>
#include <string>
#include <vector>

namespace adjit::tests {

/// What the host's module calls before each access to memory of the grid or of the block:
/// adjit_emulate_use(address, bytes, use, number of the instruction).
inline constexpr const char* kUseFunction = "adjit_emulate_use";
/// For "llvm.nvvm.barrier0" it calls "adjit_emulate.barrier0".
inline constexpr const char* kIntrinsicPrefix = "adjit_emulate.";
/// For a kernel "k" it has "adjit_launch.k", which takes the addresses of the parameters' values.
inline constexpr const char* kLaunchPrefix = "adjit_launch.";
/// Shared memory is an array of the host, of which the module has the address.
inline constexpr const char* kSharedBase = "adjit_emulate_shared";

struct HostModule {
  struct Constant {
    std::string name;
    size_t bytes;
  };
  std::vector<Constant> constants;        // in global memory, which kernels may read
  std::vector<std::string> intrinsics;    // that it calls, without the prefix
  std::vector<std::string> instructions;  // that access memory, as text, by their numbers
  int64_t shared_bytes = 0;               // static ones of all kernels
};

/// Changes the module. Throws std::runtime_error with the text of what is not emulated.
HostModule to_host(llvm::Module& module, const std::string& triple, const llvm::DataLayout& layout);

}  // namespace adjit::tests
