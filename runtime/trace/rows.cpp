// runtime/trace/rows.cpp -- conditions as rows of a domain.
#include "runtime/trace/rows.hpp"

#include <utility>

#include "runtime/graph/affine_constraint.hpp"

namespace adjit::trace {
namespace {

// The negation of a node as another node where that is exact: comparisons of floats keep their Not
// (NaN).
ExprId negated(ExprPool& pool, ExprId condition) {
  const Op op = pool[condition].op;
  if (op == Op::Not) return pool.operand(condition, 0);
  if ((op == Op::Lt || op == Op::Le) && !is_float(pool.dtype(pool.operand(condition, 0)))) {
    const ExprId a = pool.operand(condition, 0), b = pool.operand(condition, 1);
    return pool.make(op == Op::Lt ? Op::Le : Op::Lt, {b, a});
  }
  if (op == Op::Ne && !is_float(pool.dtype(pool.operand(condition, 0))))
    return pool.make(Op::Eq, {pool.operand(condition, 0), pool.operand(condition, 1)});
  return pool.make(Op::Not, {condition});
}

}  // namespace

std::vector<ExprId> normalized_conjuncts(ExprPool& pool, ExprId condition) {
  std::vector<ExprId> factors;
  std::vector<std::pair<ExprId, bool>> work{{condition, true}};
  while (!work.empty()) {
    const auto [e, positive] = work.back();
    work.pop_back();
    const Op op = pool[e].op;
    if (op == Op::Not) {
      work.emplace_back(pool.operand(e, 0), !positive);
    } else if (op == (positive ? Op::And : Op::Or)) {
      work.emplace_back(pool.operand(e, 1), positive);
      work.emplace_back(pool.operand(e, 0), positive);
    } else {
      const ExprId factor = positive ? e : negated(pool, e);
      if (!pool.is_true(factor)) factors.push_back(factor);
    }
  }
  return factors;
}

ExprId conjunction(ExprPool& pool, const std::vector<ExprId>& factors) {
  ExprId all = pool.constant_int(1, DType::Bool);
  for (ExprId factor : factors) all = pool.logical_and(all, factor);
  return all;
}

bool add_row(ExprPool& pool, ExprId factor, Domain& domain) {
  std::optional<AffineConstraint> row = affine_constraint(pool, factor, domain);
  if (row) add_constraint(domain, std::move(*row));
  return row.has_value();
}

ExprId restrict_domain(ExprPool& pool, ExprId condition, Domain& domain) {
  std::vector<ExprId> rest;
  for (ExprId factor : normalized_conjuncts(pool, condition))
    if (!add_row(pool, factor, domain)) rest.push_back(factor);
  return conjunction(pool, rest);
}

}  // namespace adjit::trace
