// jit/engine/compile_kernels.hpp -- all kernels of a program to objects, in parallel; objects into
// the process.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/cpu/code.hpp"
#include "jit/cpu/target.hpp"
#include "jit/emit/kernel.hpp"
#include "jit/engine/kernel_list.hpp"
#include "jit/engine/plan.hpp"

namespace adjit {

struct CompiledKernels {
  std::vector<EmittedKernel> kernels;      // their modules have been consumed
  std::vector<std::vector<char>> objects;  // one per kernel
};

/// "adjit_kernel_0", ...
std::string kernel_symbol(size_t kernel);

/// What kernel k is called.
using KernelNames = std::function<std::string(size_t)>;

/// Emits kernel k of a list under its symbol.
EmittedKernel emit_listed(const KernelList& list, size_t k, const TargetFeatures& features,
                          const KernelNames& names = kernel_symbol);

/// What kernel k of a list, emitted so, deserves: as codegen_level() says, but Fast for kernels of
/// few points in a list of many, whose first call is mostly compilation. A chain of 10,000
/// operations on Zen 3: 1.3 seconds instead of 2.0.
CodegenLevel level_of(const KernelList& list, size_t k, const EmittedKernel& kernel,
                      const TargetFeatures& features);

/// Emits and compiles every kernel, on as many threads as this process may use. Deterministic.
CompiledKernels compile_kernels(const KernelList& list, TargetMachines& machines,
                                const KernelNames& names = kernel_symbol);

/// Links object k for kernel k of the plan.
std::vector<std::shared_ptr<LoadedCode>> load_objects(CodeLoader& loader,
                                                      std::span<const std::vector<char>> objects,
                                                      const ExecutionPlan& plan);

/// Objects in one string, each behind its size (u64, little-endian), and back. ErrorCode::Cache for
/// anything else.
std::string join_objects(std::span<const std::vector<char>> objects);
std::vector<std::vector<char>> split_objects(std::string_view bytes);

}  // namespace adjit
