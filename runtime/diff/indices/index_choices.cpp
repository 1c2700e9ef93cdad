// runtime/diff/indices/index_choices.cpp -- nodes of an index whose value the sign of an affine
// form chooses.
#include "runtime/diff/indices/index_choices.hpp"

#include "runtime/domain/bounds.hpp"
#include "runtime/graph/affine_constraint.hpp"

namespace adjit::diff {
namespace {

bool is_choice(Op op) {
  switch (op) {
    case Op::Abs:
    case Op::Sign:
    case Op::Min:
    case Op::Max:
    case Op::Lt:
    case Op::Le:
    case Op::Eq:
    case Op::Ne: return true;
    default: return false;
  }
}

// The operand of a min or max that is taken where both are equal: not a constant, so that the bound
// of a clipped index has the points outside alone.
size_t taken_at_ties(const ExprPool& pool, ExprId node) {
  return pool.is(pool.operand(node, 0), Op::Constant) ? 1 : 0;
}

// The least form that is at least zero where, and only where, the sign is not negative.
Affine above(const IndexChoice& choice) {
  return choice.form + Affine(choice.zero == AtZero::Apart ? -1 : 0);
}
Affine below(const IndexChoice& choice) { return -choice.form - Affine(1); }

}  // namespace

bool is_index_operation(Op op) {
  switch (op) {
    case Op::Neg:
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::FloorDiv:
    case Op::Mod:
    case Op::Abs:
    case Op::Sign:
    case Op::Min:
    case Op::Max:
    case Op::Select:
    case Op::Cast:
    case Op::Not:
    case Op::And:
    case Op::Or:
    case Op::Lt:
    case Op::Le:
    case Op::Eq:
    case Op::Ne: return true;
    default: return false;
  }
}

std::optional<IndexChoice> choice_of(const ExprPool& pool, ExprId node, Domain& domain) {
  const Op op = pool[node].op;
  if (!is_choice(op) || pool.dtype(pool.operand(node, 0)) != DType::Int64) return std::nullopt;
  const size_t before = domain.divisions.size();
  const auto none = [&]() -> std::optional<IndexChoice> {
    domain.divisions.resize(before);
    return std::nullopt;
  };
  const std::optional<Affine> a = as_affine(pool, pool.operand(node, 0), domain);
  if (!a) return none();
  const bool unary = op == Op::Abs || op == Op::Sign;
  const std::optional<Affine> b = unary ? Affine() : as_affine(pool, pool.operand(node, 1), domain);
  if (!b) return none();
  // Rows tell the signs apart: every one of them has to be exact.
  const auto exact = [&](Op comparison, const Affine& x, const Affine& y) {
    return affine_constraint(comparison, x, y, domain).has_value();
  };
  if (!exact(Op::Lt, *a, *b) || !exact(Op::Lt, *b, *a) || !exact(Op::Eq, *a, *b)) return none();
  if (op == Op::Abs) return IndexChoice{*a, AtZero::Either};
  if (op == Op::Sign) return IndexChoice{*a, AtZero::Apart};
  const Affine difference = *b - *a;
  if (op == Op::Min || op == Op::Max) {
    const bool first_below = (op == Op::Min) == (taken_at_ties(pool, node) == 0);
    return IndexChoice{first_below ? difference : -difference, AtZero::Either};
  }
  if (op == Op::Lt) return IndexChoice{difference - Affine(1), AtZero::AsAbove};
  return IndexChoice{difference, op == Op::Le ? AtZero::AsAbove : AtZero::Apart};
}

ExprId chosen(ExprPool& pool, ExprId node, Sign sign) {
  const Op op = pool[node].op;
  const bool low = sign == Sign::Negative, zero = sign == Sign::Zero;
  switch (op) {
    case Op::Abs: return low ? pool.neg(pool.operand(node, 0)) : pool.operand(node, 0);
    case Op::Sign: return pool.constant_int(low ? -1 : zero ? 0 : 1);
    case Op::Min:
    case Op::Max: {
      const size_t taken = taken_at_ties(pool, node);
      return pool.operand(node, low ? 1 - taken : taken);
    }
    case Op::Eq: return pool.constant_int(zero, DType::Bool);
    case Op::Ne: return pool.constant_int(!zero, DType::Bool);
    default: return pool.constant_int(!low, DType::Bool);
  }
}

std::vector<Sign> signs_of(const IndexChoice& choice) {
  if (choice.zero == AtZero::Apart) return {Sign::Negative, Sign::Zero, Sign::Positive};
  return {Sign::Negative, Sign::Positive};
}

void restrict_to(Domain& domain, const IndexChoice& choice, Sign sign) {
  if (sign == Sign::Zero) {
    domain.equalities.push_back(choice.form);
  } else {
    domain.inequalities.push_back(sign == Sign::Negative ? below(choice) : above(choice));
  }
}

std::optional<Sign> known_sign(const Domain& domain, const IndexChoice& choice) {
  if (implies(domain, above(choice))) return Sign::Positive;
  if (implies(domain, below(choice))) return Sign::Negative;
  if (choice.zero == AtZero::Apart && implies_zero(domain, choice.form)) return Sign::Zero;
  if (choice.zero == AtZero::Either && implies(domain, -choice.form)) return Sign::Negative;
  return std::nullopt;
}

}  // namespace adjit::diff
