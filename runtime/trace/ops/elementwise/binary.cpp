// runtime/trace/ops/elementwise/binary.cpp -- elementwise functions of two tensors, broadcast.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/trace/ops/call/operator_call.hpp"
#include "runtime/trace/ops/elementwise/families.hpp"
#include "runtime/trace/ops/stages/elementwise.hpp"

namespace adjit::trace {
namespace {

using Elements = std::span<const Formula>;

// Ordering and arithmetic need numbers; bool has bitwise and logical operations.
Formula number(Formula x, std::string_view what) {
  if (x.dtype() == DType::Bool)
    throw Error(ErrorCode::DType, std::string(what) + " of bool: cast it with astype first");
  return x;
}

Formula add(Elements x) { return number(x[0], "arithmetic") + x[1]; }
Formula subtract(Elements x) { return number(x[0], "arithmetic") - x[1]; }
Formula multiply(Elements x) { return number(x[0], "arithmetic") * x[1]; }
Formula divide(Elements x) {
  if (!is_float(x[0].dtype()))
    throw Error(ErrorCode::DType, "true division needs a float type, not " +
                                      std::string(name_of(x[0].dtype())) +
                                      ": use floor_divide (//), or cast with astype");
  return x[0] / x[1];
}
Formula floor_divide(Elements x) { return floor_div(number(x[0], "division"), x[1]); }
Formula remainder(Elements x) { return number(x[0], "division") % x[1]; }
Formula fmod(Elements x) { return number(x[0], "division").make(Op::Fmod, x[1]); }
Formula minimum_of(Elements x) { return minimum(x[0], x[1]); }
Formula maximum_of(Elements x) { return maximum(x[0], x[1]); }
Formula atan2(Elements x) { return x[0].make(Op::Atan2, x[1]); }
Formula hypot(Elements x) { return x[0].make(Op::Hypot, x[1]); }

// Squares and cubes are products: cheaper, and exact where the product is.
Formula pow_of(Elements x) {
  const std::optional<double> exponent = x[1].pool().value(x[1].id());
  number(x[0], "power");
  if (exponent == 2.0) return x[0] * x[0];
  if (exponent == 3.0) return x[0] * x[0] * x[0];
  return power(x[0], x[1]);
}

// max + log(1 + base^(-|a - b|)); equal infinities stay what they are. Both parts take the side of
// a at a tie, so that derivatives of every order are those of the sum.
Formula log_of_sum(Elements x, Op power, double log_of_e) {
  const Formula a = x[0], b = x[1];
  const Formula ratio = select(a < b, a - b, b - a).make(power);
  const Formula smooth = select(a < b, b, a) + log1p(ratio) * log_of_e;
  return select(a == b && is_inf(a), a, smooth);
}
Formula logaddexp(Elements x) { return log_of_sum(x, Op::Exp, 1); }
Formula logaddexp2(Elements x) { return log_of_sum(x, Op::Exp2, std::numbers::log2e); }
// 0 where x is 0 and the logarithm is infinite or none. Elsewhere a plain product, for the slope in
// x at 0 is log y.
Formula xlogy(Elements x) {
  const Formula y = x[1];
  return select(x[0] == 0 && (y <= 0 || is_inf(y)), 0, x[0] * log(y));
}
Formula copysign(Elements x) {
  // 1/-0 is -inf: the sign of a zero shows.
  const Formula negative = x[1] < 0 || (x[1] == 0 && 1.0 / x[1] < 0);
  return select(negative, -abs(x[0]), abs(x[0]));
}

Formula equal(Elements x) { return x[0] == x[1]; }
Formula not_equal(Elements x) { return x[0] != x[1]; }
Formula less(Elements x) { return x[0] < x[1]; }
Formula less_equal(Elements x) { return x[0] <= x[1]; }
Formula greater(Elements x) { return x[1] < x[0]; }
Formula greater_equal(Elements x) { return x[1] <= x[0]; }

Formula logical_and(Elements x) { return as_bool(x[0]) && as_bool(x[1]); }
Formula logical_or(Elements x) { return as_bool(x[0]) || as_bool(x[1]); }
Formula logical_xor(Elements x) { return as_bool(x[0]) != as_bool(x[1]); }
Formula bitwise_and(Elements x) { return x[0] & x[1]; }
Formula bitwise_or(Elements x) { return x[0].make(Op::BitOr, x[1]); }
Formula bitwise_xor(Elements x) { return x[0] ^ x[1]; }
Formula left_shift(Elements x) { return x[0] << x[1]; }
Formula right_shift(Elements x) { return x[0] >> x[1]; }

struct BinaryRow {
  std::string_view name;
  Formula (*formula)(Elements);
  std::string_view gradient;
  Takes takes = Takes::Numbers;
};

constexpr BinaryRow kBinaryOperators[] = {
    {"add", add, "g; g"},
    {"subtract", subtract, "g; -g"},
    {"multiply", multiply, "g y; g x"},
    {"divide", divide, "g / y; -g z / y", Takes::Floats},
    {"floor_divide", floor_divide, "zero: piecewise constant"},
    {"remainder", remainder, "g; -g floor(x / y)"},
    {"fmod", fmod, "g; -g round((x - z) / y)"},
    {"minimum", minimum_of, "g where chosen, halves where equal"},
    {"maximum", maximum_of, "g where chosen, halves where equal"},
    {"pow", pow_of, "g y x^(y-1); g z log(x), 0 at x = 0"},
    {"atan2", atan2, "g y / (x^2 + y^2); -g x / (x^2 + y^2); both 0 at the origin", Takes::Floats},
    {"hypot", hypot, "g x / z; g y / z; both 0 at the origin", Takes::Floats},
    {"logaddexp", logaddexp, "g exp(x - z); g exp(y - z)", Takes::Floats},
    {"logaddexp2", logaddexp2, "g 2^(x - z); g 2^(y - z)", Takes::Floats},
    {"xlogy", xlogy, "g log(y), 0 at x = 0 where log(y) is infinite or NaN; g x / y",
     Takes::Floats},
    {"copysign", copysign, "g where signs agree, else -g; zero", Takes::Floats},
    {"equal", equal, kNotAFloat},
    {"not_equal", not_equal, kNotAFloat},
    {"less", less, kNotAFloat},
    {"less_equal", less_equal, kNotAFloat},
    {"greater", greater, kNotAFloat},
    {"greater_equal", greater_equal, kNotAFloat},
    {"logical_and", logical_and, kNotAFloat},
    {"logical_or", logical_or, kNotAFloat},
    {"logical_xor", logical_xor, kNotAFloat},
    {"bitwise_and", bitwise_and, kNotAFloat},
    {"bitwise_or", bitwise_or, kNotAFloat},
    {"bitwise_xor", bitwise_xor, kNotAFloat},
    {"bitwise_left_shift", left_shift, kNotAFloat},
    {"bitwise_right_shift", right_shift, kNotAFloat},
};

std::vector<TensorId> apply_binary(OperatorCall& call) {
  const BinaryRow& row = *std::ranges::find(kBinaryOperators, call.name(), &BinaryRow::name);
  return {map(call.trace(), call.name(), call.operands(), row.formula, row.takes)};
}

std::vector<Operator> all_binary() {
  std::vector<Operator> all;
  for (const BinaryRow& row : kBinaryOperators)
    all.push_back({row.name, "(x, y)", "(...), (...) -> broadcast", row.gradient, apply_binary});
  return all;
}

}  // namespace

std::span<const Operator> binary_operators() {
  static const std::vector<Operator> kAll = all_binary();
  return kAll;
}

}  // namespace adjit::trace
