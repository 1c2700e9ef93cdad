// jit/emit/body/divisors.cpp -- divisions of floats by what stays the same for many of them.
#include "jit/emit/body/divisors.hpp"

#include <algorithm>
#include <cmath>

#include "jit/emit/shape/instance_number.hpp"

namespace adjit::emit {

using llvm::Value;

bool Divisors::divides_often(ExprId id, std::span<const Emitted> operands) const {
  const ExprPool& pool = context_.pool();
  const BodyShape& shape = context_.shape;
  if (!pool.is(id, Op::Div) || !is_float(pool.dtype(id)) || !context_.math.features().fma)
    return false;
  const ExprId divisor = pool.operand(id, 1);
  // A power of two is multiplied by its reciprocal anyway.
  if (const auto number = pool.value(divisor)) {
    int exponent = 0;
    // A subnormal one must count as other operations count it (jit/cpu/float_mode.hpp).
    const double least = pool.dtype(id) == DType::Float64 ? 0x1p-1022 : 0x1p-126;
    return std::isfinite(*number) && std::abs(*number) >= least &&
           std::abs(std::frexp(*number, &exponent)) != 0.5;
  }
  const uint64_t shared = shape[id].dependence.trips & ~shape[divisor].dependence.trips;
  int64_t divisions =
      context_.scopes.trips(operands[1].depth, std::max(operands[0].depth, operands[1].depth));
  for (size_t k = 0; k < shape.nest->unrolled_loops.size(); ++k)
    if (shared & trip_bits(k)) divisions *= shape.unrolled(k).trips;
  // Making it ready takes as long as two or three, and takes registers.
  return divisions >= 8;
}

Emitted Divisors::divided(const Emitted& x, const Emitted& by) {
  const VectorMath::Divisor* divisor = ready_.find(by.value);
  if (!divisor) {
    VectorMath::Divisor made;
    context_.scopes.at(by.depth, [&] {
      made = context_.math.divisor(by.value);
      return made.reciprocal;
    });
    for (Value** value : {&made.scale, &made.magnitude, &made.reciprocal})
      if (*value) *value = context_.splats({*value, by.depth});
    divisor = &ready_.remember(by.value, made, by.depth);
  }
  Value* lanes = context_.splats(x);
  const size_t depth = std::max(x.depth, by.depth);
  return {context_.scopes.at(depth, [&] { return context_.math.divided(lanes, *divisor); }), depth};
}

}  // namespace adjit::emit
