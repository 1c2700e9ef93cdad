// tests/fuzz/oracle/wide.cpp -- operations on numbers with error bounds.
#include "tests/fuzz/oracle/wide.hpp"

#include <algorithm>
#include <array>

#include "runtime/expr/error.hpp"
#include "runtime/expr/polygamma.hpp"
#include "runtime/expr/scalar.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using Real = long double;

// Library functions are a few units off; operations are correctly rounded.
constexpr Real kFunctionUnits = 4;

// The asymptotic series of polygamma(n, x), x >= 40: DLMF 5.15.8 and 5.11.2.
Real polygamma_series(int n, Real x) {
  constexpr std::array<Real, 10> kBernoulli{
      1.0L / 6,       -1.0L / 30, 1.0L / 42,      -1.0L / 30,     5.0L / 66,
      -691.0L / 2730, 7.0L / 6,   -3617.0L / 510, 43867.0L / 798, -174611.0L / 330};
  if (n == 0) {
    Real sum = std::log(x) - 1 / (2 * x);
    for (size_t k = 1; k <= kBernoulli.size(); ++k)
      sum -= kBernoulli[k - 1] / (2 * static_cast<Real>(k) * std::pow(x, 2 * static_cast<Real>(k)));
    return sum;
  }
  const Real order = n;
  Real sum = std::tgamma(order) / std::pow(x, order) +
             std::tgamma(order + 1) / (2 * std::pow(x, order + 1));
  for (size_t k = 1; k <= kBernoulli.size(); ++k) {
    const Real even = 2 * static_cast<Real>(k);
    sum += kBernoulli[k - 1] * std::tgamma(even + order) / std::tgamma(even + 1) /
           std::pow(x, even + order);
  }
  return n % 2 ? sum : -sum;
}

Real wide_polygamma(Real order, Real x) {
  const int n = static_cast<int>(order);
  if (!(x > 0) || static_cast<Real>(n) != order || n < 0 || n > 20)
    return static_cast<Real>(polygamma(static_cast<double>(order), static_cast<double>(x)));
  Real shifted = 0;  // psi_n(x) = psi_n(x + 1) - (-1)^n n! / x^(n + 1)
  for (; x < 40; ++x) shifted += 1 / std::pow(x, static_cast<Real>(n + 1));
  shifted *= std::tgamma(static_cast<Real>(n + 1));
  return polygamma_series(n, x) + (n % 2 ? shifted : -shifted);
}

// Newton's steps from the interpreter's value.
Real wide_erfinv(Real y) {
  const Scalar start[] = {Scalar::of_float(static_cast<double>(y))};
  Real x = apply(Op::Erfinv, DType::Float64, DType::Float64, start).f;
  if (!std::isfinite(x)) return x;
  for (int step = 0; step < 3; ++step) {
    const Real error = y > 0.5L    ? (1 - y) - std::erfc(x)
                       : y < -0.5L ? std::erfc(-x) - (1 + y)
                                   : std::erf(x) - y;
    x -= error / (2 / std::sqrt(M_PIl) * std::exp(-x * x));
  }
  return x;
}

Real wide_sigmoid(Real x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

Real function(Op op, Real x) {
  switch (op) {
    case Op::Exp: return std::exp(x);
    case Op::Exp2: return std::exp2(x);
    case Op::Expm1: return std::expm1(x);
    case Op::Log: return std::log(x);
    case Op::Log2: return std::log2(x);
    case Op::Log10: return std::log10(x);
    case Op::Log1p: return std::log1p(x);
    case Op::Sqrt: return std::sqrt(x);
    case Op::Rsqrt: return 1 / std::sqrt(x);
    case Op::Sin: return std::sin(x);
    case Op::Cos: return std::cos(x);
    case Op::Tan: return std::tan(x);
    case Op::Asin: return std::asin(x);
    case Op::Acos: return std::acos(x);
    case Op::Atan: return std::atan(x);
    case Op::Sinh: return std::sinh(x);
    case Op::Cosh: return std::cosh(x);
    case Op::Tanh: return std::tanh(x);
    case Op::Asinh: return std::asinh(x);
    case Op::Acosh: return std::acosh(x);
    case Op::Atanh: return std::atanh(x);
    case Op::Sigmoid: return wide_sigmoid(x);
    case Op::Erf: return std::erf(x);
    case Op::Erfc: return std::erfc(x);
    case Op::Erfinv: return wide_erfinv(x);
    case Op::Lgamma: return std::lgamma(x);
    case Op::Digamma: return wide_polygamma(0, x);
    default: throw Error(ErrorCode::Internal, "no function of one float");
  }
}

Real rounded_to_integer(Op op, Real x) {
  switch (op) {
    case Op::Floor: return std::floor(x);
    case Op::Ceil: return std::ceil(x);
    case Op::Trunc: return std::trunc(x);
    default: return std::nearbyint(x);
  }
}

int64_t order_of(Real a, Real b) { return a < b ? -1 : a > b ? 1 : a == b ? 0 : 2; }

/// One operation with its operands, which adds what it rounds.
class Operation {
 public:
  Operation(Op op, DType operand, DType result, std::span<const Wide> values, Decisions& decisions)
      : op_(op), operand_(operand), result_(result), v_(values), decisions_(decisions) {}

  Wide operator()() const {
    if (op_ == Op::Cast) return cast();
    if (op_ == Op::Not) return {0, !v_[0].i, v_[0].error};
    if (!is_float(operand_)) return integer();
    return v_.size() == 1 ? unary() : v_.size() == 2 ? binary() : fma();
  }

 private:
  // `error` from the operands, and rounding to the result's type: what lies beyond its range is
  // unknown, what lies below it may be flushed to 0.
  Wide rounded(Real value, Real error, Real units = 1) const {
    const bool half = result_ == DType::Float16;
    const Real largest = half                        ? 65504.0L
                         : result_ == DType::Float64 ? std::numeric_limits<double>::max()
                                                     : std::numeric_limits<float>::max();
    const Real smallest = half                        ? 0x1p-14L
                          : result_ == DType::Float64 ? std::numeric_limits<double>::min()
                                                      : std::numeric_limits<float>::min();
    if (std::isnan(value) || std::isnan(error)) return {value, 0, Wide::kUnknown};
    if (std::abs(value) > largest / 2) return {value, 0, Wide::kUnknown};
    error += units * unit_of(result_) * std::abs(value);
    if (std::abs(value) < smallest && value != 0) error += smallest;
    return {value, 0, error};
  }
  Wide exact(Real value, Real error) const { return {value, 0, error}; }
  Wide choice(int64_t value, bool sure) const {
    decisions_.add(value);
    return {0, value, decisions_.is_sure(sure) ? 0 : Wide::kUnknown};
  }

  Wide integer() const {
    std::array<Scalar, 3> plain;
    Real error = 0;
    for (size_t k = 0; k < v_.size(); ++k) {
      plain[k] = Scalar::of_int(v_[k].i);
      error = std::max(error, v_[k].error);
    }
    const int64_t i = apply(op_, operand_, result_, std::span(plain.data(), v_.size())).i;
    return {0, i, error};
  }

  Wide cast() const {
    const Wide& a = v_[0];
    if (!is_float(operand_)) {
      if (is_float(result_)) return rounded(static_cast<Real>(a.i), a.error);
      return integer();
    }
    if (is_float(result_)) {
      if (size_of(result_) >= size_of(operand_) && result_ != DType::BFloat16 &&
          result_ != DType::Float16)
        return exact(a.f, a.error);
      return rounded(a.f, a.error);
    }
    if (result_ == DType::Bool) return choice(a.f != 0, a.error == 0 || std::abs(a.f) > a.error);
    const auto whole = [&](Real x) { return saturate_to(static_cast<double>(x), result_); };
    if (!std::isfinite(a.error)) return choice(whole(a.f), false);
    // The double nearest to the value may be the next integer.
    const Real slack = a.error + 0x1p-52L * std::abs(a.f) * (a.error > 0);
    return choice(whole(a.f), whole(a.f - slack) == whole(a.f + slack));
  }

  Wide unary() const {
    const Wide& a = v_[0];
    switch (op_) {
      case Op::Neg: return exact(-a.f, a.error);
      case Op::Abs: decisions_.add(order_of(a.f, 0)); return exact(std::abs(a.f), a.error);
      case Op::Sign: {
        const bool sure = a.error == 0 || std::abs(a.f) > a.error;
        decisions_.add(order_of(a.f, 0));
        return exact(std::isnan(a.f) ? a.f : static_cast<Real>((a.f > 0) - (a.f < 0)),
                     decisions_.is_sure(sure) ? 0 : Wide::kUnknown);
      }
      case Op::IsNan: return choice(std::isnan(a.f), std::isfinite(a.error));
      case Op::IsInf: return choice(std::isinf(a.f), std::isfinite(a.error));
      case Op::Floor:
      case Op::Ceil:
      case Op::Trunc:
      case Op::Round: {
        const Real value = rounded_to_integer(op_, a.f);
        decisions_.add(saturate_to(static_cast<double>(value), DType::Int64));
        const bool sure = rounded_to_integer(op_, a.f - a.error) == value &&
                          rounded_to_integer(op_, a.f + a.error) == value;
        return exact(value, decisions_.is_sure(a.error == 0 || sure) ? 0 : Wide::kUnknown);
      }
      case Op::Lgamma:
      case Op::Digamma:
        if (maybe_pole_of_gamma(a)) return {function(op_, a.f), 0, Wide::kUnknown};
        [[fallthrough]];
      default: return of_function([this](Real x) { return function(op_, x); }, a);
    }
  }

  static bool maybe_zero(const Wide& v) { return std::abs(v.f) <= v.error; }

  // Whether the operand may be 0 or a negative integer, where the gamma function has its poles.
  static bool maybe_pole_of_gamma(const Wide& v) {
    return std::ceil(v.f - v.error) <= std::min<Real>(std::floor(v.f + v.error), 0);
  }

  // How far the function moves within the operand's error.
  template <class F>
  Wide of_function(F&& f, const Wide& a) const {
    const Real value = f(a.f);
    if (a.error == 0) return rounded(value, 0, kFunctionUnits);
    if (!std::isfinite(a.error)) return {value, 0, Wide::kUnknown};
    const Real below = std::abs(f(a.f - a.error) - value),
               above = std::abs(f(a.f + a.error) - value);
    if (std::isnan(below) || std::isnan(above)) return {value, 0, Wide::kUnknown};
    return rounded(value, 2 * std::max(below, above), kFunctionUnits);
  }

  template <class F>
  Wide of_two(F&& f) const {
    const Wide a = of_function([&](Real x) { return f(x, v_[1].f); }, v_[0]);
    const Wide b = of_function([&](Real x) { return f(v_[0].f, x); }, v_[1]);
    return {a.f, 0, a.error + b.error};
  }

  Wide binary() const {
    const Wide &a = v_[0], &b = v_[1];
    if (result_ == DType::Bool) return comparison();
    switch (op_) {
      case Op::Add: return rounded(a.f + b.f, a.error + b.error);
      case Op::Sub: return rounded(a.f - b.f, a.error + b.error);
      case Op::Mul: return product();
      case Op::Div: {
        const Real value = a.f / b.f, room = std::abs(b.f) - b.error;
        return rounded(value, room > 0      ? (a.error + std::abs(value) * b.error) / room
                              : b.error > 0 ? Wide::kUnknown
                                            : 0);
      }
      case Op::Min:
      case Op::Max: {
        if (std::isnan(a.f) || std::isnan(b.f)) return {a.f + b.f, 0, Wide::kUnknown};
        decisions_.add(order_of(a.f, b.f));
        const bool first = op_ == Op::Max ? a.f >= b.f : a.f <= b.f;
        const bool close = std::abs(a.f - b.f) <= a.error + b.error;
        const Real error = close ? std::max(a.error, b.error) : first ? a.error : b.error;
        return exact(first ? a.f : b.f, error);
      }
      case Op::FloorDiv:
      case Op::Mod:
      case Op::Fmod: return quotient();
      case Op::Pow: {
        const Wide power = of_two([](Real x, Real y) { return std::pow(x, y); });
        return maybe_zero(a) && b.f - b.error < 0 ? Wide{power.f, 0, Wide::kUnknown} : power;
      }
      case Op::Atan2: return of_two([](Real x, Real y) { return std::atan2(x, y); });
      case Op::Hypot: return of_two([](Real x, Real y) { return std::hypot(x, y); });
      case Op::Polygamma: {
        const Wide value = of_function([&](Real x) { return wide_polygamma(a.f, x); }, b);
        return maybe_pole_of_gamma(b) ? Wide{value.f, 0, Wide::kUnknown} : value;
      }
      default: throw Error(ErrorCode::Internal, "no operation on two floats");
    }
  }

  Wide comparison() const {
    const Wide &a = v_[0], &b = v_[1];
    const int64_t order = order_of(a.f, b.f);
    decisions_.add(order);
    const bool holds = op_ == Op::Eq   ? a.f == b.f
                       : op_ == Op::Ne ? a.f != b.f
                       : op_ == Op::Lt ? a.f < b.f
                                       : a.f <= b.f;
    const Real error = a.error + b.error;
    const bool sure = error == 0 || std::abs(a.f - b.f) > 4 * error;
    return {0, holds, decisions_.is_sure(sure) ? 0 : Wide::kUnknown};
  }

  Real product_error() const {
    const Wide &a = v_[0], &b = v_[1];
    // Also beside a factor of 0: what is unknown may be infinite or NaN, and so then is the
    // product.
    if (!std::isfinite(a.error) || !std::isfinite(b.error)) return Wide::kUnknown;
    return (std::abs(a.f) + a.error) * b.error + std::abs(b.f) * a.error;
  }
  Wide product() const { return rounded(v_[0].f * v_[1].f, product_error()); }

  Wide quotient() const {
    const Wide &a = v_[0], &b = v_[1];
    if (maybe_zero(b) || !std::isfinite(a.f) || !std::isfinite(b.f))
      return {a.f / b.f, 0, Wide::kUnknown};
    const Real exact_quotient = a.f / b.f;
    const Real error = (a.error + std::abs(exact_quotient) * b.error) / std::abs(b.f);
    const Real whole = op_ == Op::Fmod ? std::trunc(exact_quotient) : std::floor(exact_quotient);
    decisions_.add(saturate_to(static_cast<double>(whole), DType::Int64));
    const Real distance = std::min(exact_quotient - std::floor(exact_quotient),
                                   std::ceil(exact_quotient) - exact_quotient);
    const bool sure = error == 0 ? true : distance > 2 * error;
    const Real rest =
        op_ == Op::Fmod
            ? std::fmod(a.f, b.f)
            : std::fmod(a.f, b.f) +
                  ((std::fmod(a.f, b.f) != 0 && (std::fmod(a.f, b.f) < 0) != (b.f < 0)) ? b.f : 0);
    const Wide value =
        op_ == Op::FloorDiv ? exact(whole, 0) : rounded(rest, a.error + std::abs(whole) * b.error);
    return decisions_.is_sure(sure) ? value : Wide{value.f, 0, Wide::kUnknown};
  }

  Wide fma() const {
    return rounded(v_[0].f * v_[1].f + v_[2].f,
                   product_error() + unit_of(result_) * std::abs(v_[0].f * v_[1].f) + v_[2].error);
  }

  Op op_;
  DType operand_, result_;
  std::span<const Wide> v_;
  Decisions& decisions_;
};

}  // namespace

long double unit_of(DType dtype) {
  switch (dtype) {
    case DType::Float64: return 0x1p-53L;
    case DType::Float32: return 0x1p-24L;
    case DType::Float16: return 0x1p-11L;
    case DType::BFloat16: return 0x1p-8L;
    default: return 0;
  }
}

Wide apply_wide(Op op, DType operand, DType result, std::span<const Wide> values,
                Decisions& decisions) {
  return Operation(op, operand, result, values, decisions)();
}

}  // namespace adjit::testing
