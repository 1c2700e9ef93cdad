// jit/engine/compile/gpu_modules.cpp -- all kernels of a program for a GPU, as bitcode.
#include "jit/engine/compile/gpu_modules.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "jit/cpu/parallel.hpp"
#include "jit/cuda/ptx/bitcode.hpp"
#include "jit/cuda/ptx/ptx.hpp"
#include "jit/engine/compile/kernel_passes.hpp"
#include "runtime/process/in_parallel.hpp"

namespace adjit::engine {
namespace {

void for_all(const KernelPasses& passes, const std::function<void(size_t k)>& visit) {
  in_parallel(passes.size(), static_cast<size_t>(ThreadPool::available_threads()),
              [&](size_t k, size_t) { visit(k); });
}

}  // namespace

GpuModules emit_gpu_modules(const KernelList& list, const TargetFeatures& features) {
  const KernelNames names = kernel_symbol;
  KernelPasses passes(list, features, cuda::set_ptx_target, names);
  for_all(passes, [&](size_t k) { passes.emit(k); });
  passes.count();
  GpuModules modules;
  modules.bitcode.resize(passes.size());
  for_all(passes, [&](size_t k) {
    passes.compile(k, [&](const EmittedKernel& kernel, CodegenLevel) {
      modules.bitcode[k] = cuda::wrapped_bitcode(*kernel.module);
    });
  });
  std::erase(modules.bitcode, std::string());  // of those that equal an earlier one
  modules.kernels = passes.take();
  return modules;
}

void check_gpu_emission(const KernelList& list, const TargetFeatures& features) {
  const KernelNames names = kernel_symbol;
  KernelPasses passes(list, features, cuda::set_ptx_target, names);
  for_all(passes, [&](size_t k) { passes.emit(k); });
}

}  // namespace adjit::engine
