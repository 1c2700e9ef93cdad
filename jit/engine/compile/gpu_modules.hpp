// jit/engine/compile/gpu_modules.hpp -- all kernels of a program for a GPU, as bitcode to be
// linked.
#pragma once

#include <string>
#include <vector>

#include "jit/emit/kernel.hpp"
#include "jit/engine/plan/kernel_list.hpp"

namespace adjit::engine {

struct GpuModules {
  std::vector<EmittedKernel> kernels;  // their modules have been consumed
  std::vector<std::string> bitcode;    // of those that equal no earlier one (equal_kernels.hpp)
};

/// Emits every kernel, on as many threads as this process may use. Deterministic.
GpuModules emit_gpu_modules(const KernelList& list, const TargetFeatures& features);

/// The same for the errors of the emitter alone.
void check_gpu_emission(const KernelList& list, const TargetFeatures& features);

}  // namespace adjit::engine
