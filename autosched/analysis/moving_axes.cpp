// autosched/analysis/moving_axes.cpp -- which axes of a stage a value in it changes with.
#include "autosched/analysis/moving_axes.hpp"

#include <unordered_set>

#include "runtime/graph/index_map.hpp"
#include "runtime/process/rooms.hpp"

namespace adjit::sched {

std::vector<bool> moving_axes(const ExprPool& pool, ExprId value, const Domain& domain) {
  std::vector<bool> axes(domain.rank(), false);
  std::vector<ExprId> open{value};
  std::unordered_set<uint32_t> seen;
  while (!open.empty()) {
    const ExprId id = open.back();
    open.pop_back();
    if (!seen.insert(id.value).second) continue;
    if (pool.dtype(id) == DType::Int64) {
      if (const std::optional<IndexForm> form = index_form(pool, id, domain)) {
        form->domain.mark_axes(form->form, axes);
        continue;
      }
    }
    if (pool.is(id, Op::Axis)) axes[pool.axis_number(id)] = true;
    const std::span<const ExprId> operands = pool.operands(id);
    open.insert(open.end(), operands.begin(), operands.end());
  }
  return axes;
}

}  // namespace adjit::sched
