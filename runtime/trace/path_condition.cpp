// runtime/trace/path_condition.cpp -- one sweep from parents to children.
#include "runtime/trace/path_condition.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/trace/rows.hpp"

namespace adjit::trace {
namespace {

// Deep towers of selects would make long conjunctions at every level; dropping factors weakens a
// condition, which is sound: verify() then asks for a guard.
constexpr size_t kMaxFactors = 256;

PathCondition with_factors(ExprPool& pool, const PathCondition& condition, ExprId test,
                           bool positive) {
  if (condition.size() >= kMaxFactors) return condition;
  PathCondition factors = normalized_conjuncts(pool, positive ? test : pool.make(Op::Not, {test}));
  std::ranges::sort(factors);
  factors.erase(std::ranges::unique(factors).begin(), factors.end());
  return both(condition, factors);
}

}  // namespace

PathCondition both(const PathCondition& a, const PathCondition& b) {
  PathCondition result;
  std::ranges::set_union(a, b, std::back_inserter(result));
  return result;
}

PathCondition either(ExprPool& pool, const PathCondition& a, const PathCondition& b) {
  PathCondition common, only_a, only_b;
  std::ranges::set_intersection(a, b, std::back_inserter(common));
  std::ranges::set_difference(a, common, std::back_inserter(only_a));
  std::ranges::set_difference(b, common, std::back_inserter(only_b));
  if (only_a.empty() || only_b.empty()) return common;
  const ExprId all_a = conjunction(pool, only_a), all_b = conjunction(pool, only_b);
  const std::vector<ExprId> not_a = normalized_conjuncts(pool, pool.make(Op::Not, {all_a}));
  if (not_a == PathCondition{all_b}) return common;
  common.push_back(pool.make(Op::Or, {all_a, all_b}));
  std::ranges::sort(common);
  return common;
}

void PathConditions::need(ExprId node, PathCondition condition) {
  const auto [at, fresh] = conditions_.try_emplace(node.value, condition);
  if (fresh) {
    queue_.push_back(node.value);
    std::ranges::push_heap(queue_);
  } else if (!at->second.empty()) {
    at->second = either(pool_, at->second, condition);
  }
}

void PathConditions::add_root(ExprId root, const PathCondition& condition) {
  need(root, condition);
}

void PathConditions::run() {
  while (!queue_.empty()) {
    std::ranges::pop_heap(queue_);
    const ExprId node{queue_.back()};
    queue_.pop_back();
    visit(node);
  }
}

void PathConditions::visit(ExprId node) {
  const PathCondition here = conditions_.at(node.value);
  const std::vector<ExprId> operands(pool_.operands(node).begin(), pool_.operands(node).end());
  const Op op = pool_[node].op;
  if (op == Op::Select) {
    need(operands[0], here);
    need(operands[1], with_factors(pool_, here, operands[0], true));
    need(operands[2], with_factors(pool_, here, operands[0], false));
  } else if (op == Op::And || op == Op::Or) {
    need(operands[0], here);
    need(operands[1], with_factors(pool_, here, operands[0], op == Op::And));
  } else {
    for (ExprId operand : operands) need(operand, here);
  }
  for (const Inner& inner : expand_(node)) need(inner.root, inner.condition(here));
}

std::vector<ExprId> PathConditions::nodes() const {
  std::vector<ExprId> found;
  for (const auto& [id, condition] : conditions_) found.push_back(ExprId{id});
  std::ranges::sort(found);
  return found;
}

}  // namespace adjit::trace
