// jit/engine/compile/compile_kernels.cpp -- parallel compilation, and objects as bytes.
#include "jit/engine/compile/compile_kernels.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "autosched/analysis/work.hpp"
#include "autosched/program/nests.hpp"
#include "jit/cpu/object.hpp"
#include "jit/cpu/parallel.hpp"
#include "jit/engine/compile/equal_kernels.hpp"
#include "runtime/process/fork.hpp"
#include "runtime/process/in_parallel.hpp"

namespace adjit::engine {

std::string kernel_symbol(size_t kernel) { return "adjit_kernel_" + std::to_string(kernel); }

CodegenLevel level_of(bool register_tile, size_t different, double points, bool long_body,
                      const TargetFeatures& features, unsigned instructions) {
  constexpr size_t kMany = 64, kFew = 8;
  constexpr unsigned kMostAllocated = 4096;
  constexpr double kSomePoints = 4096, kManyPoints = 1 << 15;
  if (!register_tile && instructions > kMostAllocated) return CodegenLevel::Fast;
  if (!register_tile && different > kMany && points <= kSomePoints) return CodegenLevel::Fast;
  if (long_body && points >= (different <= kFew ? kSomePoints : kManyPoints))
    return CodegenLevel::Less;
  return codegen_level(register_tile, features);
}

namespace {

// Whether a point takes as much as a function: copies need few registers.
bool has_long_body(const Program& program, const Kernel& kernel) {
  constexpr double kLong = 10;
  double most = 0;
  for_each_nest(kernel.root, [&](const Nest& nest) {
    double cost = 0;
    const std::vector<ExprId>& bodies = program.graph.stages[nest.stage].bodies;
    for (ExprId id : reachable(program.graph.pool, bodies))
      if (program.graph.pool.dtype(id) != DType::Int64)
        cost += operation_cost(program.graph.pool, id);
    most = std::max(most, cost);
  });
  return most >= kLong;
}

// The kernels of a list in two passes: all are emitted, then those that equal no earlier one are
// given to be compiled, at the level that all of them together deserve.
class KernelPasses {
 public:
  KernelPasses(const KernelList& list, TargetMachines& machines, const KernelNames& names)
      : list_(list),
        machines_(machines),
        names_(names),
        kernels_(list.entries().size()),
        equal_(kernels_.size()),
        instructions_(kernels_.size()),
        points_(kernels_.size()) {}

  void emit(size_t k) {
    const ForkDelay no_fork;
    kernels_[k] = emitted(k);
    or_abandon(k, [&] {
      instructions_[k] = kernels_[k].module->getInstructionCount();
      if (equal_.show(k, kernels_[k]) != k || k >= kKept) drop_module(k);
    });
  }

  /// Once all have been emitted.
  void count() {
    for (size_t k = 0; k < kernels_.size(); ++k) {
      const KernelList::Entry& entry = list_.entries()[k];
      points_[equal_.first_of(k)] +=
          points_of(*entry.program, entry.program->kernels[entry.kernel]) *
          static_cast<double>(entry.calls);
    }
  }

  /// All of them, those of the most code first: the last thread to finish has a short one.
  std::vector<size_t> longest_first() const {
    std::vector<size_t> order(kernels_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](size_t k) { return instructions_[k]; });
    return order;
  }

  /// Kernel k is one to be compiled: calls visit(kernel, level) for it.
  template <typename Visit>
  void compile(size_t k, Visit&& visit) {
    const ForkDelay no_fork;
    EmittedKernel& kernel = kernels_[k];
    if (const size_t first = equal_.first_of(k); first != k) {
      kernel.symbol = names_(first);
    } else {
      if (!kernel.module) kernel = emitted(k);
      or_abandon(k, [&] {
        const KernelList::Entry& entry = list_.entries()[k];
        visit(kernel, level_of(kernel.register_tile, equal_.different(), points_[k],
                               has_long_body(*entry.program, entry.program->kernels[entry.kernel]),
                               machines_.target().vector, instructions_[k]));
      });
    }
    drop_module(k);
  }

  std::vector<EmittedKernel> take() { return std::move(kernels_); }

 private:
  // Modules kept from one pass to the other. They are large: later ones are emitted twice.
  static constexpr size_t kKept = 64;

  EmittedKernel emitted(size_t k) const {
    const KernelList::Entry& entry = list_.entries()[k];
    EmittedKernel kernel = emit_kernel(*entry.program, entry.kernel, *entry.layouts,
                                       machines_.target().vector, names_(k));
    try {
      set_target(*kernel.module, machines_);
    } catch (const std::bad_alloc&) {
      kernel.abandon();
      throw;
    }
    return kernel;
  }

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

  void drop_module(size_t k) {
    kernels_[k].module.reset();
    kernels_[k].context.reset();
  }

  const KernelList& list_;
  TargetMachines& machines_;
  const KernelNames& names_;
  std::vector<EmittedKernel> kernels_;
  EqualKernels equal_;
  std::vector<unsigned> instructions_;
  std::vector<double> points_;  // of all calls of a kernel and of those that equal it
};

}  // namespace

CompiledKernels compile_kernels(const KernelList& list, TargetMachines& machines,
                                const KernelNames& names) {
  const size_t count = list.entries().size();
  CompiledKernels compiled;
  compiled.objects.resize(count);
  KernelPasses passes(list, machines, names);
  const auto threads = static_cast<size_t>(ThreadPool::available_threads());
  in_parallel(count, threads, [&](size_t k, size_t) { passes.emit(k); });
  passes.count();
  const std::vector<size_t> order = passes.longest_first();
  in_parallel(count, threads, [&](size_t place, size_t) {
    const size_t k = order[place];
    passes.compile(k, [&](const EmittedKernel& kernel, CodegenLevel level) {
      compiled.objects[k] = compile_module(*kernel.module, machines, level);
    });
  });
  compiled.kernels = passes.take();
  return compiled;
}

void check_emission(const KernelList& list, TargetMachines& machines) {
  const KernelNames names = kernel_symbol;
  KernelPasses passes(list, machines, names);
  in_parallel(list.entries().size(), static_cast<size_t>(ThreadPool::available_threads()),
              [&](size_t k, size_t) { passes.emit(k); });
}

void for_each_different(const KernelList& list, TargetMachines& machines,
                        const std::function<void(const EmittedKernel&, CodegenLevel)>& visit) {
  const KernelNames names = kernel_symbol;
  KernelPasses passes(list, machines, names);
  for (size_t k = 0; k < list.entries().size(); ++k) passes.emit(k);
  passes.count();
  for (size_t k = 0; k < list.entries().size(); ++k) passes.compile(k, visit);
}

std::vector<std::shared_ptr<LoadedCode>> load_objects(CodeLoader& loader,
                                                      std::span<const std::vector<char>> objects,
                                                      const ExecutionPlan& plan) {
  if (objects.size() != plan.kernels.size())
    throw Error(ErrorCode::Cache, "an execution plan does not fit its objects");
  std::vector<std::shared_ptr<LoadedCode>> code;
  std::unordered_map<std::string_view, std::shared_ptr<LoadedCode>> loaded;
  for (size_t k = 0; k < objects.size(); ++k) {
    const std::string& symbol = plan.kernels[k].symbol;
    std::shared_ptr<LoadedCode>& own = loaded[symbol];
    if (!own || !objects[k].empty()) own = loader.load(objects[k], std::span(&symbol, 1));
    code.push_back(own);
  }
  return code;
}

std::string join_objects(std::span<const std::vector<char>> objects) {
  std::string bytes;
  for (const std::vector<char>& object : objects) {
    uint64_t size = object.size();
    for (int k = 0; k < 8; ++k, size >>= 8) bytes += static_cast<char>(size & 0xff);
    bytes.append(object.data(), object.size());
  }
  return bytes;
}

std::vector<std::vector<char>> split_objects(std::string_view bytes) {
  std::vector<std::vector<char>> objects;
  while (!bytes.empty()) {
    if (bytes.size() < 8) throw Error(ErrorCode::Cache, "the list of objects is cut off");
    uint64_t size = 0;
    for (size_t k = 8; k-- > 0;) size = size << 8 | static_cast<unsigned char>(bytes[k]);
    bytes.remove_prefix(8);
    if (size > bytes.size()) throw Error(ErrorCode::Cache, "the list of objects is cut off");
    objects.emplace_back(bytes.begin(), bytes.begin() + static_cast<long>(size));
    bytes.remove_prefix(size);
  }
  return objects;
}

}  // namespace adjit::engine
