// runtime/expr/interval.cpp -- interval arithmetic on index expressions.
#include "runtime/expr/interval.hpp"

#include <algorithm>
#include <unordered_map>

#include "runtime/expr/integer.hpp"

namespace adjit {
namespace {

constexpr ValueRange kAnything{INT64_MIN, INT64_MAX};

using Known = std::unordered_map<uint32_t, ValueRange>;

bool is_open(ValueRange r) { return r.lo == kAnything.lo || r.hi == kAnything.hi; }

ValueRange product(ValueRange a, ValueRange b) {
  const int64_t corners[] = {checked_mul(a.lo, b.lo), checked_mul(a.lo, b.hi),
                             checked_mul(a.hi, b.lo), checked_mul(a.hi, b.hi)};
  return {std::ranges::min(corners), std::ranges::max(corners)};
}

// Raises Overflow where an end cannot be represented.
ValueRange binary(Op op, ValueRange a, ValueRange b) {
  switch (op) {
    case Op::Min: return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case Op::Max: return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case Op::Mod:
      if (b.lo != b.hi || b.lo < 1) return kAnything;
      if (!is_open(a) && floor_div(a.lo, b.lo) == floor_div(a.hi, b.lo))
        return {floor_mod(a.lo, b.lo), floor_mod(a.hi, b.lo)};
      return {0, b.lo - 1};
    default: break;
  }
  if (is_open(a) || is_open(b)) return kAnything;
  switch (op) {
    case Op::Add: return {checked_add(a.lo, b.lo), checked_add(a.hi, b.hi)};
    case Op::Sub: return {checked_sub(a.lo, b.hi), checked_sub(a.hi, b.lo)};
    case Op::Mul: return product(a, b);
    case Op::FloorDiv:
      if (b.lo != b.hi || b.lo < 1) return kAnything;
      return {floor_div(a.lo, b.lo), floor_div(a.hi, b.lo)};
    default: return kAnything;
  }
}

// What a type holds that is cast to int64; floats, and int64 itself, might hold anything.
ValueRange range_of(DType dtype) {
  switch (dtype) {
    case DType::Bool: return {0, 1};
    case DType::UInt8: return {0, UINT8_MAX};
    case DType::Int8: return {INT8_MIN, INT8_MAX};
    case DType::Int16: return {INT16_MIN, INT16_MAX};
    case DType::Int32: return {INT32_MIN, INT32_MAX};
    default: return kAnything;
  }
}

ValueRange interval_at(const ExprPool& pool, ExprId id, const Known& known,
                       std::span<const int64_t> extents) {
  const Node& node = pool[id];
  if (node.dtype != DType::Int64) return kAnything;
  if (const std::optional<int64_t> value = pool.int_value(id)) return {*value, *value};
  if (node.op == Op::Axis) {
    const size_t k = pool.axis_number(id);
    return k < extents.size() ? ValueRange{0, std::max<int64_t>(extents[k] - 1, 0)} : kAnything;
  }
  if (node.op == Op::Cast) return range_of(pool.dtype(pool.operand(id, 0)));
  const auto operand = [&](size_t k) { return known.at(pool.operand(id, k).value); };
  if (node.op == Op::Neg && !is_open(operand(0)))
    return {checked_mul(operand(0).hi, -1), checked_mul(operand(0).lo, -1)};
  if (node.op == Op::Select)
    return {std::min(operand(1).lo, operand(2).lo), std::max(operand(1).hi, operand(2).hi)};
  if (node.operand_count == 2 && node.op != Op::Read)
    return binary(node.op, operand(0), operand(1));
  return kAnything;
}

}  // namespace

std::optional<ValueRange> interval_of(const ExprPool& pool, ExprId expr,
                                      std::span<const int64_t> extents) {
  Known known;
  const ExprId roots[] = {expr};
  for (ExprId id : reachable(pool, roots)) try {
      known.emplace(id.value, interval_at(pool, id, known, extents));
    } catch (const Overflow&) {
      known.emplace(id.value, kAnything);
    }
  const ValueRange range = known.at(expr.value);
  return is_open(range) ? std::nullopt : std::optional(range);
}

}  // namespace adjit
