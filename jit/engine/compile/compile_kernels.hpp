// jit/engine/compile/compile_kernels.hpp -- all kernels of a program to objects, in parallel;
// objects into the process.
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
#include "jit/engine/plan/kernel_list.hpp"
#include "jit/engine/plan/plan.hpp"

namespace adjit::engine {

struct CompiledKernels {
  std::vector<EmittedKernel> kernels;  // their modules have been consumed
  /// One per kernel: empty where an earlier kernel's code serves, whose symbol this one has then.
  std::vector<std::vector<char>> objects;
};

/// "adjit_kernel_0", ...
std::string kernel_symbol(size_t kernel);

/// What kernel k is called.
using KernelNames = std::function<std::string(size_t)>;

/// What a kernel deserves in a program of so many different ones: as codegen_level() says, with
/// three exceptions. Kernels without accumulators that have few points in all their calls are
/// compiled Fast in a program of many, since the first call is then mostly compilation: a chain of
/// 10,000 operations on Zen 3, when each of its 1,130 kernels was compiled, took 1.3 seconds
/// instead of 2.0. Long bodies of many points, or some in a program of few kernels, are worth
/// registers: on Zen 4 a Gaussian kernel's gradient takes 0.76 of the time, a fused chain of
/// functions 0.85, and their first calls 1 to 2 ms more (bodies of 20 functions some 70). Where a
/// kernel without accumulators has thousands of instructions, allocating registers takes the square
/// of their number and gains nothing: joins of 250, 400 and 800 arrays of 64 x 32 float32 on Zen 4
/// took 0.62, 1.6 and 7.1 s to compile with and 0.11, 0.18 and 0.39 s without, and ran in 0.80,
/// 1.05 and 0.99 of the time.
CodegenLevel level_of(bool register_tile, size_t different, double points, bool long_body,
                      const TargetFeatures& features, unsigned instructions);

/// Emits every kernel and compiles those that equal no earlier one (equal_kernels.hpp), on as many
/// threads as this process may use. Deterministic.
CompiledKernels compile_kernels(const KernelList& list, TargetMachines& machines,
                                const KernelNames& names = kernel_symbol);

/// Emits every kernel, for the errors of the emitter alone.
void check_emission(const KernelList& list, TargetMachines& machines);

/// Visits the kernels that compile_kernels() compiles, in order and one at a time.
void for_each_different(const KernelList& list, TargetMachines& machines,
                        const std::function<void(const EmittedKernel&, CodegenLevel)>& visit);

/// Links object k for kernel k of the plan; kernels without one share the code of the earlier
/// kernel of their symbol.
std::vector<std::shared_ptr<LoadedCode>> load_objects(CodeLoader& loader,
                                                      std::span<const std::vector<char>> objects,
                                                      const ExecutionPlan& plan);

/// Objects in one string, each behind its size (u64, little-endian), and back. ErrorCode::Cache for
/// anything else.
std::string join_objects(std::span<const std::vector<char>> objects);
std::vector<std::vector<char>> split_objects(std::string_view bytes);

}  // namespace adjit::engine
