// jit/engine/compile/kernel_passes.hpp -- the kernels of a list, emitted and compiled in two
// passes.
#pragma once

#include <functional>
#include <new>
#include <string>
#include <vector>

#include "jit/cpu/target.hpp"
#include "jit/emit/kernel.hpp"
#include "jit/engine/compile/compile_kernels.hpp"
#include "jit/engine/compile/equal_kernels.hpp"
#include "jit/engine/plan/kernel_list.hpp"
#include "runtime/process/fork.hpp"

namespace adjit::engine {

/// All are emitted, then those that equal no earlier one are given to be compiled, at the level
/// that all of them together deserve. Each kernel in one thread at a time.
class KernelPasses {
 public:
  /// `finish` gives a module its triple and data layout.
  using Finish = std::function<void(llvm::Module& module)>;
  KernelPasses(const KernelList& list, const TargetFeatures& features, Finish finish,
               const KernelNames& names);

  size_t size() const { return kernels_.size(); }
  void emit(size_t k);
  /// Once all have been emitted.
  void count();
  /// All of them, those of the most code first: the last thread to finish has a short one.
  std::vector<size_t> longest_first() const;

  /// Kernel k is one to be compiled: calls visit(kernel, level) for it.
  template <typename Visit>
  void compile(size_t k, Visit&& visit) {
    const ForkDelay no_fork;
    EmittedKernel& kernel = kernels_[k];
    if (const size_t first = equal_.first_of(k); first != k) {
      kernel.symbol = names_(first);
    } else {
      if (!kernel.module) kernel = emitted(k);
      or_abandon(k, [&] { visit(kernel, level(k)); });
    }
    drop_module(k);
  }

  std::vector<EmittedKernel> take() { return std::move(kernels_); }

 private:
  // Modules kept from one pass to the other. They are large: later ones are emitted twice.
  static constexpr size_t kKept = 64;

  EmittedKernel emitted(size_t k) const;
  CodegenLevel level(size_t k) const;
  void drop_module(size_t k);

  // Work with the module of kernel k, inside LLVM.
  template <typename Work>
  void or_abandon(size_t k, Work&& work) {
    try {
      work();
    } catch (const std::bad_alloc&) {
      kernels_[k].abandon();
      throw;
    }
  }

  const KernelList& list_;
  const TargetFeatures& features_;
  Finish finish_;
  const KernelNames& names_;
  std::vector<EmittedKernel> kernels_;
  EqualKernels equal_;
  std::vector<unsigned> instructions_;
  std::vector<double> points_;  // of all calls of a kernel and of those that equal it
};

}  // namespace adjit::engine
