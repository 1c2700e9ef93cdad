// jit/emit/math/roots.cpp -- lengths, and powers whose exponents are quarters, by square roots.
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "jit/emit/math/elementary.hpp"

namespace adjit::emit::elementary {
namespace {

// 1 / sqrt(x) to 14 bits, of one register. Infinite for 0, 0 for infinity, NaN below.
Floats estimate_in_register(Floats x) {
  llvm::IRBuilder<>& b = x.context().builder;
  using namespace llvm::Intrinsic;
  const unsigned lanes = x.lanes();
  const ID id = lanes == 16  ? x86_avx512_rsqrt14_ps_512
                : lanes == 8 ? x86_avx512_rsqrt14_ps_256
                             : x86_avx512_rsqrt14_ps_128;
  llvm::Value* all = llvm::Constant::getAllOnesValue(b.getIntNTy(std::max(8u, lanes)));
  return {x.context(), b.CreateIntrinsic(id, {}, {x.value(), x.value(), all})};
}

Floats reciprocal_root_estimate(Floats x) {
  return by_registers(x, x.context().features.avx512vl ? 4 : 16, 16, estimate_in_register);
}

// One Newton step from an estimate y of 1 / sqrt(x): y + y / 2 (1 - x y^2). NaN where the estimate
// is 0 or infinite.
Floats improved(Floats x, Floats y) {
  const Floats error = fused(-(x * y), y, y.constant(1));
  return fused(y * 0.5, error, y);
}

// The same with what rounding takes of the product x y.
Floats improved_exactly(Floats x, Floats y) {
  const Floats root = x * y;
  const Floats rounded = fused(-root, y, y.constant(1));
  const Floats error = fused(-fused(x, y, -root), y, rounded);
  return fused(y * 0.5, error, y);
}

// x^(-n / 4) for n of 1 .. 7 but 4, by estimates: a root or a division in every lane keeps the
// divider busy for 10 to 20 cycles each.
Floats reciprocal_power(Floats x, int n) {
  const Floats estimate = reciprocal_root_estimate(x);
  // Errors of three factors add up.
  const auto step = n > 4 ? improved_exactly : improved;
  const Floats refined = step(x, estimate);
  const Mask extreme = is_nan(refined);  // 0, infinity, negative numbers and NaN
  const Floats reciprocal = select(extreme, estimate, refined);
  // The factors are all above 1 or all below: no product leaves the range before the result does.
  Floats result = reciprocal;
  if (n % 2 == 1) {
    const Floats root = select(extreme, x, x * reciprocal);
    const Floats second = reciprocal_root_estimate(root);
    const Floats odd = select(extreme, second, step(root, second));
    result = n == 1 || n == 5 ? odd : reciprocal * odd;
  }
  return n > 4 ? result * (reciprocal * reciprocal) : result;
}

}  // namespace

std::optional<int> quarters_of(Floats y) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(y.value());
  if (constant && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  if (!number) return std::nullopt;
  const double value = 4 * number->getValueAPF().convertToDouble();
  if (value != std::trunc(value) || value < -7 || value > 7) return std::nullopt;
  const int whole = static_cast<int>(value);
  return whole % 4 == 0 ? std::nullopt : std::optional(whole);
}

Floats quarter_power(Floats x, int quarters) {
  // As pow has it: +0 of -0, and infinity counts without its sign.
  const Floats positive_zero = x + 0.0;
  const Floats base = select(x == -x.infinity(), x.infinity(), positive_zero);
  const int count = quarters < 0 ? -quarters : quarters;
  if (quarters < 0 && !x.is_double() && x.context().features.avx512f)
    return reciprocal_power(base, count);
  const Floats root = sqrt(base);
  Floats result = count % 2 == 0 ? root : sqrt(root);
  if (count % 4 == 3) result = root * result;
  if (quarters > 4) result = base * result;
  if (quarters < 0) result = x.constant(1) / result;
  // Divided twice: the product of the divisors would leave the range before the result does.
  return quarters < -4 ? result / base : result;
}

// Squares stay among the normal numbers: of what is far from 1 they are scaled ones.
Floats hypot(Floats a, Floats b) {
  const Floats x = fabs(a), y = fabs(b);
  const double far = x.is_double() ? 0x1p500 : 0x1p60, power = x.is_double() ? 0x1p600 : 0x1p90;
  const Floats size = select(x < y, y, x);
  const Floats smaller = select(size > far, x.constant(1 / power), 1.0);
  const Floats scale = select(size < 1 / far, power, smaller);
  const Floats larger = select(size > far, x.constant(power), 1.0);
  const Floats back = select(size < 1 / far, 1 / power, larger);
  const Floats p = x * scale, q = y * scale;
  const Floats sum = multiply_add(p, p, q * q);
  const Floats length = sqrt(sum) * back;
  const Mask infinite_y = y == y.infinity();
  const Mask infinite = (x == x.infinity()) | infinite_y;
  return select(infinite, x.infinity(), length);
}

}  // namespace adjit::emit::elementary
