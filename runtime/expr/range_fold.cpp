// runtime/expr/range_fold.cpp -- one walk over the nodes, operands first.
#include "runtime/expr/range_fold.hpp"

#include <optional>
#include <unordered_map>
#include <vector>

#include "runtime/expr/integer.hpp"
#include "runtime/expr/interval.hpp"

namespace adjit::expr {
namespace {

// Of a place in a flattened array: a few coordinates and shifts each.
constexpr size_t kMostAddends = 64;

class RangeFolder {
 public:
  RangeFolder(ExprPool& pool, std::span<const int64_t> extents)
      : pool_(pool), ranges_(pool, extents) {}

  ExprId operator()(ExprId root) {
    for (ExprId id : reachable(pool_, std::span(&root, 1))) now_[id.value] = folded(rebuilt(id));
    return now_.at(root.value);
  }

 private:
  ExprId rebuilt(ExprId id) {
    std::vector<ExprId> operands;
    bool same = true;
    for (ExprId operand : pool_.operands(id)) {
      operands.push_back(now_.at(operand.value));
      same = same && operands.back() == operand;
    }
    if (same) return id;
    const Op op = pool_[id].op;
    if (op == Op::Cast) return pool_.cast(operands[0], pool_.dtype(id));
    if (op != Op::Read) return pool_.make(op, operands);
    const size_t rank = pool_.read_index(id).size();
    const ExprId predicate = operands.size() > rank ? operands.back() : ExprId{};
    operands.resize(rank);
    return pool_.read(pool_.read_tensor(id), pool_.dtype(id), operands, predicate);
  }

  // Each node once: sums of sums are widened from both of their readers.
  ExprId folded(ExprId id) {
    if (const auto known = folded_.find(id.value); known != folded_.end()) return known->second;
    const ExprId result = by_operation(id);
    folded_.emplace(id.value, result);
    return result;
  }

  ExprId by_operation(ExprId id) {
    switch (pool_[id].op) {
      case Op::Lt:
      case Op::Le:
      case Op::Eq:
      case Op::Ne: return compared(id);
      case Op::Min:
      case Op::Max: return chosen(id);
      case Op::Cast: return widened(id);
      case Op::FloorDiv:
      case Op::Mod: return divided(id);
      default: return id;
    }
  }

  std::optional<ValueRange> range(ExprId id) { return ranges_.of(id); }
  std::optional<ValueRange> range_of_operand(ExprId id, size_t k) {
    return range(pool_.operand(id, k));
  }

  // Whether an integer is certainly what it would be without wrapping. (What might wrap might be
  // anything of its dtype.)
  bool is_exact(ExprId id) {
    const auto r = range(id);
    return r && (pool_.dtype(id) == DType::Int64 ||
                 (r->lo > INT32_MIN && r->hi < INT32_MAX && pool_.dtype(id) == DType::Int32));
  }

  ExprId compared(ExprId id) {
    const auto a = range_of_operand(id, 0), b = range_of_operand(id, 1);
    if (!a || !b) return id;
    const auto known = [&](bool value) { return pool_.constant_int(value, DType::Bool); };
    const bool apart = a->hi < b->lo || b->hi < a->lo;
    switch (pool_[id].op) {
      case Op::Lt:
        if (a->hi < b->lo) return known(true);
        return a->lo >= b->hi ? known(false) : id;
      case Op::Le:
        if (a->hi <= b->lo) return known(true);
        return a->lo > b->hi ? known(false) : id;
      case Op::Eq: return apart ? known(false) : id;
      default: return apart ? known(true) : id;
    }
  }

  ExprId chosen(ExprId id) {
    const auto a = range_of_operand(id, 0), b = range_of_operand(id, 1);
    if (!a || !b) return id;
    const bool first_below = a->hi <= b->lo, second_below = b->hi <= a->lo;
    if (!first_below && !second_below) return id;
    return pool_.operand(id, pool_.is(id, Op::Min) == first_below ? 0 : 1);
  }

  // int64(a + b) as int64(a) + int64(b), where a + b is what it would be without wrapping.
  ExprId widened(ExprId id) {
    const ExprId sum = pool_.operand(id, 0);
    const Op op = pool_[sum].op;
    if (pool_.dtype(id) != DType::Int64 || pool_.dtype(sum) != DType::Int32) return id;
    if (op == Op::Cast && pool_.dtype(pool_.operand(sum, 0)) == DType::Int64) {
      const auto whole = range_of_operand(sum, 0);
      return whole && whole->lo >= INT32_MIN && whole->hi <= INT32_MAX ? pool_.operand(sum, 0) : id;
    }
    if (op != Op::Add && op != Op::Sub && op != Op::Mul) return id;
    const ExprId a = folded(pool_.cast(pool_.operand(sum, 0), DType::Int64));
    const ExprId b = folded(pool_.cast(pool_.operand(sum, 1), DType::Int64));
    const ExprId wide = pool_.make(op, {a, b});
    const auto exact = range(wide);
    return exact && exact->lo >= INT32_MIN && exact->hi <= INT32_MAX ? wide : id;
  }

  // Stays as it is where its constants add up to more than 64 bits.
  ExprId divided(ExprId id) {
    try {
      return divided_by_parts(id);
    } catch (const Overflow&) {
      return id;
    }
  }

  ExprId divided_by_parts(ExprId id) {
    const ExprId numerator = pool_.operand(id, 0);
    const std::optional<int64_t> divisor = pool_.int_value(pool_.operand(id, 1));
    if (!divisor || *divisor < 1) return id;
    const auto inside = [&](ExprId part) {
      const auto r = range(part);
      return r && r->lo >= 0 && r->hi < *divisor;
    };
    if (inside(numerator))
      return pool_.is(id, Op::Mod) ? numerator : pool_.constant_int(0, pool_.dtype(id));
    // The sum of addends that are multiples of the divisor, and the rest; neither wraps.
    const DType dtype = pool_.dtype(id);
    ExprId quotient = pool_.constant_int(0, dtype), rest = quotient;
    int64_t constant = 0;
    std::vector<ExprId> open{numerator};
    for (size_t taken = 0; !open.empty(); ++taken) {
      if (taken == kMostAddends) return id;
      const ExprId part = open.back();
      open.pop_back();
      if (!is_exact(part)) return id;
      if (pool_.is(part, Op::Sub) && pool_.int_value(pool_.operand(part, 1))) {
        constant = checked_sub(constant, *pool_.int_value(pool_.operand(part, 1)));
        open.push_back(pool_.operand(part, 0));
        continue;
      }
      if (pool_.is(part, Op::Add)) {
        open.push_back(pool_.operand(part, 1));
        open.push_back(pool_.operand(part, 0));
        continue;
      }
      const ExprId exact = quotient_of(part, *divisor);
      if (const std::optional<int64_t> value = pool_.int_value(part))
        constant = checked_add(constant, *value);
      else if (exact.valid())
        quotient = pool_.add(quotient, exact);
      else
        rest = pool_.add(rest, part);
    }
    // What the multiples leave of a constant may be taken from either side.
    for (const int64_t more : {int64_t{0}, int64_t{-1}}) {
      const ExprId left = pool_.add(
          rest, pool_.constant_int(floor_mod(constant, *divisor) + more * *divisor, dtype));
      if (!inside(left)) continue;
      if (pool_.is(id, Op::Mod)) return left;
      return pool_.add(quotient, pool_.constant_int(floor_div(constant, *divisor) - more, dtype));
    }
    return id;
  }

  // part / divisor where the part is written as a multiple; else invalid.
  ExprId quotient_of(ExprId part, int64_t divisor) {
    if (!pool_.is(part, Op::Mul)) return {};
    const std::optional<int64_t> scale = pool_.int_value(pool_.operand(part, 1));
    if (!scale || *scale % divisor != 0) return {};
    return pool_.mul(pool_.operand(part, 0),
                     pool_.constant_int(*scale / divisor, pool_.dtype(part)));
  }

  ExprPool& pool_;
  Intervals ranges_;
  std::unordered_map<uint32_t, ExprId> now_, folded_;
};

}  // namespace

ExprId folded_by_ranges(ExprPool& pool, ExprId root, std::span<const int64_t> extents) {
  return RangeFolder(pool, extents)(root);
}

}  // namespace adjit::expr
