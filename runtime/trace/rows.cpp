// runtime/trace/rows.cpp -- conditions as rows of a domain.
#include "runtime/trace/rows.hpp"

#include <limits>
#include <utility>

namespace adjit {
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

int64_t lowest(DType dtype) {
  switch (dtype) {
    case DType::Bool:
    case DType::UInt8: return 0;
    case DType::Int8: return std::numeric_limits<int8_t>::min();
    case DType::Int16: return std::numeric_limits<int16_t>::min();
    case DType::Int32: return std::numeric_limits<int32_t>::min();
    default: return std::numeric_limits<int64_t>::min();
  }
}

int64_t highest(DType dtype) {
  switch (dtype) {
    case DType::Bool: return 1;
    case DType::UInt8: return std::numeric_limits<uint8_t>::max();
    default: return -(lowest(dtype) + 1);
  }
}

// The row of a comparison; nullopt where a side or the row itself may leave int64 in the domain's
// box: rows are exact, and a side that wraps is compared after it has.
std::optional<Affine> exact_difference(ExprPool& pool, ExprId comparison, Domain& domain) {
  const ExprId low = pool.operand(comparison, 0), high = pool.operand(comparison, 1);
  const size_t before = domain.divisions.size();
  const bool exact_sides = as_affine(pool, low, domain) && as_affine(pool, high, domain);
  domain.divisions.resize(before);
  if (!exact_sides) return std::nullopt;
  ExprId difference = pool.sub(high, low);
  if (pool.is(comparison, Op::Lt)) difference = pool.sub(difference, pool.constant_int(1));
  return as_affine(pool, difference, domain);
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
  const Op op = pool[factor].op;
  if (op != Op::Eq && op != Op::Lt && op != Op::Le) return false;
  if (pool.dtype(pool.operand(factor, 0)) != DType::Int64) return false;
  std::optional<Affine> row = exact_difference(pool, factor, domain);
  if (!row) return false;
  std::vector<Affine>& rows = op == Op::Eq ? domain.equalities : domain.inequalities;
  for (const Affine& known : rows)
    if (known == *row) return true;
  if (!row->is_constant() || (op == Op::Eq ? row->constant() != 0 : row->constant() < 0))
    rows.push_back(std::move(*row));
  return true;
}

ExprId restrict_domain(ExprPool& pool, ExprId condition, Domain& domain) {
  std::vector<ExprId> rest;
  for (ExprId factor : normalized_conjuncts(pool, condition))
    if (!add_row(pool, factor, domain)) rest.push_back(factor);
  return conjunction(pool, rest);
}

ExprId identity_of(ExprPool& pool, CombinerKind kind, DType dtype) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (kind) {
    case CombinerKind::Product:
    case CombinerKind::All: return pool.constant(1, dtype);
    case CombinerKind::Max:
    case CombinerKind::ArgMax:
      return is_float(dtype) ? pool.constant_float(-kInfinity, dtype)
                             : pool.constant_int(lowest(dtype), dtype);
    case CombinerKind::Min:
    case CombinerKind::ArgMin:
      return is_float(dtype) ? pool.constant_float(kInfinity, dtype)
                             : pool.constant_int(highest(dtype), dtype);
    default: return pool.constant(0, dtype);
  }
}

}  // namespace adjit
