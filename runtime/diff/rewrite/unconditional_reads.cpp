// runtime/diff/rewrite/unconditional_reads.cpp -- which reads of a body no condition protects.
#include "runtime/diff/rewrite/unconditional_reads.hpp"

#include <algorithm>
#include <unordered_set>

namespace adjit::diff {

std::vector<ExprId> unconditional_reads(const ExprPool& pool, std::span<const ExprId> bodies) {
  std::vector<ExprId> stack(bodies.begin(), bodies.end()), reads;
  std::unordered_set<uint32_t> seen;
  while (!stack.empty()) {
    const ExprId id = stack.back();
    stack.pop_back();
    if (!seen.insert(id.value).second) continue;
    if (pool.is(id, Op::Read)) reads.push_back(id);
    const std::span<const ExprId> operands = pool.operands(id);
    const bool decides = pool.is(id, Op::Select) || pool.is(id, Op::And) || pool.is(id, Op::Or);
    const size_t taken = decides ? 1 : operands.size();
    for (ExprId operand : operands.first(taken)) stack.push_back(operand);
  }
  std::ranges::sort(reads);
  return reads;
}

}  // namespace adjit::diff
