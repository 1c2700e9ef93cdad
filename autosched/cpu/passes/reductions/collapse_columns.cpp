// autosched/cpu/passes/reductions/collapse_columns.cpp -- where two axes of columns walk memory as
// one.
#include "autosched/cpu/passes/reductions/collapse_columns.hpp"

#include <algorithm>

#include "autosched/analysis/work.hpp"
#include "autosched/cpu/passes/fuse_epilogue.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/moves/moves.hpp"

namespace adjit::sched {
namespace {

// Whether the operand goes on from each row of the inner axis to the next, or stays the same.
bool is_walked_as_one(const MemoryAccess& access, const Domain& domain, size_t axis) {
  return access.depends_on(axis) == access.depends_on(axis + 1) && !access.irregular[axis] &&
         !access.irregular[axis + 1] && !access.guarded &&
         access.strides[axis] == access.strides[axis + 1] * domain.extents[axis + 1];
}

// Whether it stays the same, and has rows of its own.
bool has_rows(const MemoryAccess& access, const Domain& domain, size_t axis) {
  if (access.depends_on(axis) || access.depends_on(axis + 1)) return false;
  for (size_t a = 0; a < axis; ++a)
    if (domain.extents[a] >= thresholds().collapsed_rows && access.depends_on(a)) return true;
  return false;
}

}  // namespace

bool wants_one_axis_of_columns(const Program& program, size_t stage, const Accesses& accesses) {
  const Stage& product = program.graph.stages[stage];
  const Domain& domain = product.domain;
  if (domain.output_rank < 3 || !is_product_sum(program.graph, product)) return false;
  if (is_short_sum(domain) && program.scopes[product.results[0].value] == Scope::Workspace)
    return false;
  const size_t axis = domain.output_rank - 2;
  const auto bytes = static_cast<int64_t>(size_of(program.graph.info(product.results[0]).dtype));
  if (domain.extents[axis] < 2 || domain.extents[axis + 1] < 2 || domain.is_bounded(axis) ||
      domain.is_bounded(axis + 1) ||
      domain.extents[axis + 1] * bytes % (cpu_of(program.target).vector_bits / 8) == 0)
    return false;
  const auto reads = [&](auto&& any) { return std::ranges::any_of(accesses.reads, any); };
  return !reads([&](const auto& a) { return !is_walked_as_one(a, domain, axis); }) &&
         reads([&](const auto& a) { return a.depends_on(axis); }) &&
         reads([&](const auto& a) { return has_rows(a, domain, axis); });
}

}  // namespace adjit::sched
