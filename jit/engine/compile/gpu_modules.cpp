// jit/engine/compile/gpu_modules.cpp -- all kernels of a program for a GPU, as bitcode.
#include "jit/engine/compile/gpu_modules.hpp"

#include <utility>

#include "jit/cpu/parallel.hpp"
#include "jit/cuda/bitcode.hpp"
#include "jit/cuda/ptx.hpp"
#include "jit/engine/compile/kernel_passes.hpp"
#include "runtime/process/in_parallel.hpp"

namespace adjit::engine {
namespace {

void emit_all(KernelPasses& passes) {
  in_parallel(passes.size(), static_cast<size_t>(ThreadPool::available_threads()),
              [&](size_t k, size_t) { passes.emit(k); });
}

}  // namespace

GpuModules emit_gpu_modules(const KernelList& list, const TargetFeatures& features) {
  const KernelNames names = kernel_symbol;
  KernelPasses passes(list, features, cuda::set_ptx_target, names);
  emit_all(passes);
  passes.count();
  GpuModules modules;
  for (size_t k = 0; k < passes.size(); ++k)
    passes.compile(k, [&](const EmittedKernel& kernel, CodegenLevel) {
      modules.bitcode.push_back(cuda::wrapped_bitcode(*kernel.module));
    });
  modules.kernels = passes.take();
  return modules;
}

void check_gpu_emission(const KernelList& list, const TargetFeatures& features) {
  const KernelNames names = kernel_symbol;
  KernelPasses passes(list, features, cuda::set_ptx_target, names);
  emit_all(passes);
}

}  // namespace adjit::engine
