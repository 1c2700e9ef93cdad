// runtime/expr/fold.cpp -- exact folding: constants, identities, canonical integer sums.
#include "runtime/expr/fold.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/expr/integer.hpp"
#include "runtime/expr/scalar.hpp"

namespace adjit::expr {
namespace {

using Operands = std::span<const ExprId>;

Scalar scalar_of(const ExprPool& pool, ExprId id) {
  const Node& n = pool[id];
  return is_float(n.dtype) ? Scalar::of_float(std::bit_cast<double>(n.payload))
                           : Scalar::of_int(static_cast<int64_t>(n.payload));
}

ExprId fold_constants(ExprPool& pool, Op op, DType dtype, Operands v) {
  std::vector<Scalar> values;
  for (ExprId id : v) {
    if (!pool.is(id, Op::Constant)) return {};
    values.push_back(scalar_of(pool, id));
  }
  if (values.empty()) return {};
  const Scalar r = apply(op, pool.dtype(v.back()), dtype, values);
  return is_float(dtype) ? pool.constant_float(r.f, dtype) : pool.constant_int(r.i, dtype);
}

// sum of scale * term, in ascending term id, plus a constant.
struct Sum {
  std::vector<std::pair<ExprId, int64_t>> terms;
  int64_t constant = 0;
};
constexpr size_t kMaxTerms = 32;  // longer sums are left as they are written

// Adds scale * id to the sum; false when it grows past kMaxTerms. Operands are canonical already,
// so the walk is down the left spine of additions.
bool collect(const ExprPool& pool, ExprId id, int64_t scale, Sum& sum) {
  std::vector<std::pair<ExprId, int64_t>> work{{id, scale}};
  while (!work.empty()) {
    const auto [e, s] = work.back();
    work.pop_back();
    if (const auto c = pool.int_value(e)) {
      sum.constant = checked_add(sum.constant, checked_mul(*c, s));
      continue;
    }
    const Op op = pool[e].op;
    if (op == Op::Add || op == Op::Sub) {
      work.emplace_back(pool.operand(e, 0), s);
      work.emplace_back(pool.operand(e, 1), op == Op::Sub ? checked_mul(s, -1) : s);
    } else if (op == Op::Neg) {
      work.emplace_back(pool.operand(e, 0), checked_mul(s, -1));
    } else if (op == Op::Mul && pool.int_value(pool.operand(e, 1))) {
      work.emplace_back(pool.operand(e, 0), checked_mul(s, *pool.int_value(pool.operand(e, 1))));
    } else {
      const auto at =
          std::ranges::lower_bound(sum.terms, e, {}, &std::pair<ExprId, int64_t>::first);
      if (at != sum.terms.end() && at->first == e) {
        at->second = checked_add(at->second, s);
      } else {
        sum.terms.insert(at, {e, s});
      }
    }
    if (sum.terms.size() + work.size() > kMaxTerms) return false;
  }
  return true;
}

ExprId build(ExprPool& pool, const Sum& sum) {
  const auto node = [&](Op op, ExprId a, ExprId b) {
    const ExprId operands[] = {a, b};
    return pool.intern({op, DType::Int64, 0, 0, 0}, operands);
  };
  ExprId total;
  for (const auto& [term, scale] : sum.terms) {
    if (scale == 0) continue;
    const int64_t magnitude = total.valid() && scale < 0 ? checked_mul(scale, -1) : scale;
    const ExprId scaled = magnitude == 1 ? term : node(Op::Mul, term, pool.constant_int(magnitude));
    total = !total.valid() ? scaled : node(scale < 0 ? Op::Sub : Op::Add, total, scaled);
  }
  if (!total.valid()) return pool.constant_int(sum.constant);
  if (sum.constant == 0) return total;
  return sum.constant > 0 ? node(Op::Add, total, pool.constant_int(sum.constant))
                          : node(Op::Sub, total, pool.constant_int(checked_mul(sum.constant, -1)));
}

ExprId fold_sum(ExprPool& pool, Op op, Operands v) {
  try {
    Sum sum;
    if (op == Op::Mul) {
      const auto a = pool.int_value(v[0]), b = pool.int_value(v[1]);
      if (!a && !b) return {};
      if (!collect(pool, a ? v[1] : v[0], a ? *a : *b, sum)) return {};
    } else if (op == Op::Neg) {
      if (!collect(pool, v[0], -1, sum)) return {};
    } else {
      if (!collect(pool, v[0], 1, sum)) return {};
      if (!collect(pool, v[1], op == Op::Sub ? -1 : 1, sum)) return {};
    }
    return build(pool, sum);
  } catch (const Overflow&) {
    return {};
  }
}

bool is_value(const ExprPool& pool, ExprId id, double wanted) {
  const auto v = pool.value(id);
  return v && *v == wanted && std::signbit(*v) == std::signbit(wanted);
}

ExprId fold_logic(const ExprPool& pool, Op op, Operands v) {
  if (op == Op::Not && pool.is(v[0], Op::Not)) return pool.operand(v[0], 0);
  if (op == Op::And || op == Op::Or) {
    const bool absorbing = op == Op::Or;
    for (size_t k = 0; k < 2; ++k) {
      if (const auto c = pool.int_value(v[k])) return (*c != 0) == absorbing ? v[k] : v[1 - k];
    }
    if (v[0] == v[1]) return v[0];
  }
  return {};
}

// Exponents 1 to 4 as products of at most two steps.
ExprId small_power(ExprPool& pool, ExprId base, ExprId exponent) {
  if (is_value(pool, exponent, 1)) return base;
  const bool two = is_value(pool, exponent, 2), three = is_value(pool, exponent, 3);
  if (!two && !three && !is_value(pool, exponent, 4)) return {};
  const ExprId square = pool.mul(base, base);
  return two ? square : pool.mul(square, three ? base : square);
}

// |x| <= c as -c <= x && x <= c, and c <= |x| as x <= -c || c <= x (likewise for <): such rows
// bound loops where x is affine.
ExprId fold_distance(ExprPool& pool, Op op, Operands v) {
  constexpr int64_t kLargest = int64_t{1} << 62;  // its negative is a number, too
  const size_t side = pool.is(v[0], Op::Abs) ? 0 : 1;
  const std::optional<int64_t> bound = pool.int_value(v[1 - side]);
  if (!pool.is(v[side], Op::Abs) || pool.dtype(v[side]) != DType::Int64 || !bound ||
      *bound > kLargest || *bound < -kLargest)
    return {};
  const ExprId x = pool.operand(v[side], 0), limit = v[1 - side];
  const ExprId opposite = pool.constant_int(-*bound);
  if (side == 0) return pool.logical_and(pool.make(op, {opposite, x}), pool.make(op, {x, limit}));
  return pool.make(Op::Or, {pool.make(op, {x, opposite}), pool.make(op, {limit, x})});
}

ExprId fold_comparison(ExprPool& pool, Op op, Operands v) {
  const bool strict = op == Op::Lt || op == Op::Ne;
  if (v[0] == v[1] && (op == Op::Lt || !is_float(pool.dtype(v[0]))))
    return pool.constant_int(strict ? 0 : 1, DType::Bool);
  return op == Op::Le || op == Op::Lt ? fold_distance(pool, op, v) : ExprId{};
}

ExprId fold_identities(ExprPool& pool, Op op, DType dtype, Operands v) {
  const bool real = is_float(dtype);
  switch (op) {
    case Op::Neg: return pool.is(v[0], Op::Neg) ? pool.operand(v[0], 0) : ExprId{};
    case Op::Add:
      if (is_value(pool, v[1], real ? -0.0 : 0.0)) return v[0];
      if (is_value(pool, v[0], real ? -0.0 : 0.0)) return v[1];
      return {};
    case Op::Sub: return is_value(pool, v[1], 0.0) ? v[0] : ExprId{};
    case Op::Mul:
      for (size_t k = 0; k < 2; ++k) {
        if (is_value(pool, v[k], 1)) return v[1 - k];
        if (is_value(pool, v[k], -1)) return pool.neg(v[1 - k]);
        if (!real && is_value(pool, v[k], 0)) return v[k];
      }
      return {};
    case Op::Div: return is_value(pool, v[1], 1) ? v[0] : ExprId{};
    case Op::FloorDiv: return !real && is_value(pool, v[1], 1) ? v[0] : ExprId{};
    case Op::Mod: return !real && is_value(pool, v[1], 1) ? pool.constant(0, dtype) : ExprId{};
    case Op::Pow: return small_power(pool, v[0], v[1]);
    case Op::Min:
    case Op::Max: return v[0] == v[1] ? v[0] : ExprId{};
    case Op::Eq:
    case Op::Ne:
    case Op::Le:
    case Op::Lt: return fold_comparison(pool, op, v);
    case Op::Select:
      if (pool.is_true(v[0])) return v[1];
      if (pool.is_false(v[0])) return v[2];
      // The same question again has the same answer.
      for (size_t k = 1; k < 3; ++k)
        if (pool.is(v[k], Op::Select) && pool.operand(v[k], 0) == v[0]) {
          const ExprId inner = pool.operand(v[k], k);
          return k == 1 ? pool.select(v[0], inner, v[2]) : pool.select(v[0], v[1], inner);
        }
      return v[1] == v[2] ? v[1] : ExprId{};
    case Op::Not:
    case Op::And:
    case Op::Or: return fold_logic(pool, op, v);
    // Bit by bit is one by one for truth values: masks have one form, however they are written.
    case Op::BitAnd: return dtype == DType::Bool ? pool.logical_and(v[0], v[1]) : ExprId{};
    case Op::BitOr: return dtype == DType::Bool ? pool.make(Op::Or, v) : ExprId{};
    case Op::BitXor: return dtype == DType::Bool ? pool.make(Op::Ne, v) : ExprId{};
    default: return {};
  }
}

}  // namespace

ExprId fold(ExprPool& pool, Op op, DType dtype, Operands operands) {
  if (const ExprId c = fold_constants(pool, op, dtype, operands); c.valid()) return c;
  if (dtype == DType::Int64 && (op == Op::Add || op == Op::Sub || op == Op::Mul || op == Op::Neg)) {
    if (const ExprId sum = fold_sum(pool, op, operands); sum.valid()) return sum;
  }
  return fold_identities(pool, op, dtype, operands);
}

}  // namespace adjit::expr
