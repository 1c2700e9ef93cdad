// jit/engine/compile/kernel_passes.cpp -- the kernels of a list, emitted and compiled in two
// passes.
#include "jit/engine/compile/kernel_passes.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "autosched/analysis/work.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::engine {
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

}  // namespace

KernelPasses::KernelPasses(const KernelList& list, const TargetFeatures& features, Finish finish,
                           const KernelNames& names)
    : list_(list),
      features_(features),
      finish_(std::move(finish)),
      names_(names),
      kernels_(list.entries().size()),
      equal_(kernels_.size()),
      instructions_(kernels_.size()),
      points_(kernels_.size()) {}

void KernelPasses::emit(size_t k) {
  const ForkDelay no_fork;
  kernels_[k] = emitted(k);
  or_abandon(k, [&] {
    instructions_[k] = kernels_[k].module->getInstructionCount();
    if (equal_.show(k, kernels_[k]) != k || k >= kKept) drop_module(k);
  });
}

void KernelPasses::count() {
  for (size_t k = 0; k < kernels_.size(); ++k) {
    const KernelList::Entry& entry = list_.entries()[k];
    points_[equal_.first_of(k)] += points_of(*entry.program, entry.program->kernels[entry.kernel]) *
                                   static_cast<double>(entry.calls);
  }
}

std::vector<size_t> KernelPasses::longest_first() const {
  std::vector<size_t> order(kernels_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](size_t k) { return instructions_[k]; });
  return order;
}

EmittedKernel KernelPasses::emitted(size_t k) const {
  const KernelList::Entry& entry = list_.entries()[k];
  EmittedKernel kernel =
      emit_kernel(*entry.program, entry.kernel, *entry.layouts, features_, names_(k));
  try {
    finish_(*kernel.module);
  } catch (const std::bad_alloc&) {
    kernel.abandon();
    throw;
  }
  return kernel;
}

CodegenLevel KernelPasses::level(size_t k) const {
  const KernelList::Entry& entry = list_.entries()[k];
  return level_of(kernels_[k].register_tile, equal_.different(), points_[k],
                  has_long_body(*entry.program, entry.program->kernels[entry.kernel]), features_,
                  instructions_[k]);
}

void KernelPasses::drop_module(size_t k) {
  kernels_[k].module.reset();
  kernels_[k].context.reset();
}

}  // namespace adjit::engine
