// runtime/expr/scalar.cpp -- the meaning of every operation on single values.
#include "runtime/expr/scalar.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "runtime/expr/floored_division.hpp"
#include "runtime/expr/integer.hpp"
#include "runtime/expr/polygamma.hpp"

namespace adjit::expr {
namespace {

float bfloat16_to_float(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

uint16_t float_to_bfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// To float with the last bit set where something was cut off (round to odd), so that a second
// rounding to fewer bits gives what one rounding would have given.
float to_float_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(nearest) == value) return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1);
}

int bit_width_of(DType dtype) { return static_cast<int>(8 * size_of(dtype)); }

// Inverse of erf: Giles' approximation as start, then Newton steps to double accuracy.
double erfinv(double y) {
  if (!(y >= -1 && y <= 1)) return std::numeric_limits<double>::quiet_NaN();
  if (y == 1 || y == -1) return std::copysign(std::numeric_limits<double>::infinity(), y);
  double w = -std::log((1 - y) * (1 + y));
  double x = y * (w < 5 ? 0.886227 + 0.2 * w * 0.1 : std::sqrt(w) / std::fabs(y == 0 ? 1 : y));
  for (int step = 0; step < 60; ++step) {
    const double error = y >= 0.5    ? -(std::erfc(x) - (1 - y))
                         : y <= -0.5 ? std::erfc(-x) - (1 + y)
                                     : std::erf(x) - y;
    const double slope = 2 / std::sqrt(M_PI) * std::exp(-x * x);
    if (slope == 0) break;
    const double u = error / slope;
    const double next = x - u / (1 + x * u);  // Halley
    if (next == x) break;
    x = next;
  }
  return x;
}

template <class T>
T sigmoid(T x) {
  if (x >= 0) return T(1) / (T(1) + std::exp(-x));
  const T e = std::exp(x);
  return e / (T(1) + e);
}

template <class T>
T unary(Op op, T x) {
  switch (op) {
    case Op::Neg: return -x;
    case Op::Abs: return std::fabs(x);
    case Op::Sign: return std::isnan(x) ? x : T((x > 0) - (x < 0));
    case Op::Exp: return std::exp(x);
    case Op::Exp2: return std::exp2(x);
    case Op::Expm1: return std::expm1(x);
    case Op::Log: return std::log(x);
    case Op::Log2: return std::log2(x);
    case Op::Log10: return std::log10(x);
    case Op::Log1p: return std::log1p(x);
    case Op::Sqrt: return std::sqrt(x);
    case Op::Rsqrt: return T(1) / std::sqrt(x);
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
    case Op::Sigmoid: return sigmoid(x);
    case Op::Erf: return std::erf(x);
    case Op::Erfc: return std::erfc(x);
    case Op::Erfinv: return static_cast<T>(erfinv(static_cast<double>(x)));
    case Op::Lgamma: return std::lgamma(x);
    case Op::Digamma: return static_cast<T>(polygamma(0, static_cast<double>(x)));
    case Op::Floor: return std::floor(x);
    case Op::Ceil: return std::ceil(x);
    case Op::Trunc: return std::trunc(x);
    case Op::Round: return std::nearbyint(x);
    default: throw Error(ErrorCode::Internal, "internal error: not a float unary operation");
  }
}

template <class T>
T binary(Op op, T a, T b) {
  switch (op) {
    case Op::Add: return a + b;
    case Op::Sub: return a - b;
    case Op::Mul: return a * b;
    case Op::Div: return a / b;
    case Op::FloorDiv: return floored_quotient(a, b);
    case Op::Mod: return floored_rest(a, b);
    case Op::Fmod: return std::fmod(a, b);
    case Op::Polygamma:
      return static_cast<T>(polygamma(static_cast<double>(a), static_cast<double>(b)));
    case Op::Min: return std::isnan(a) ? a : std::isnan(b) ? b : (b < a ? b : a);
    case Op::Max: return std::isnan(a) ? a : std::isnan(b) ? b : (a < b ? b : a);
    case Op::Pow: return std::pow(a, b);
    case Op::Atan2: return std::atan2(a, b);
    case Op::Hypot: return std::hypot(a, b);
    default: throw Error(ErrorCode::Internal, "internal error: not a float binary operation");
  }
}

template <class T>
bool compare(Op op, T a, T b) {
  switch (op) {
    case Op::Eq: return a == b;
    case Op::Ne: return a != b;
    case Op::Lt: return a < b;
    case Op::Le: return a <= b;
    default: throw Error(ErrorCode::Internal, "internal error: not a comparison");
  }
}

// Two's complement without undefined behaviour.
int64_t wrapping(Op op, int64_t a, int64_t b) {
  const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  const uint64_t r = op == Op::Add ? x + y : op == Op::Sub ? x - y : x * y;
  return static_cast<int64_t>(r);
}

int64_t integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  int64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = wrapping(Op::Mul, result, base);
    base = wrapping(Op::Mul, base, base);
  }
  return result;
}

int64_t integer_division(Op op, int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return op == Op::FloorDiv ? wrapping(Op::Sub, 0, a) : 0;
  return op == Op::FloorDiv ? floor_div(a, b) : op == Op::Mod ? floor_mod(a, b) : a % b;
}

int64_t shift(Op op, int64_t a, int64_t by, int width) {
  const bool out = by < 0 || by >= width;
  if (op == Op::ShiftLeft) return out ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << by);
  return out ? (a < 0 ? -1 : 0) : a >> by;
}

int64_t integer(Op op, std::span<const Scalar> v, DType dtype) {
  const int64_t a = v[0].i, b = v.size() > 1 ? v[1].i : 0;
  switch (op) {
    case Op::Neg: return wrapping(Op::Sub, 0, a);
    case Op::Abs: return a < 0 ? wrapping(Op::Sub, 0, a) : a;
    case Op::Sign: return (a > 0) - (a < 0);
    case Op::BitNot: return dtype == DType::Bool ? !a : ~a;
    case Op::Add:
    case Op::Sub:
    case Op::Mul: return wrapping(op, a, b);
    case Op::FloorDiv:
    case Op::Mod:
    case Op::Fmod: return integer_division(op, a, b);
    case Op::Min: return a < b ? a : b;
    case Op::Max: return a < b ? b : a;
    case Op::Pow: return integer_power(a, b);
    case Op::BitAnd: return a & b;
    case Op::BitOr: return a | b;
    case Op::BitXor: return a ^ b;
    case Op::ShiftLeft:
    case Op::ShiftRight: return shift(op, a, b, bit_width_of(dtype));
    case Op::Fma: return wrapping(Op::Add, wrapping(Op::Mul, a, b), v[2].i);
    default: throw Error(ErrorCode::Internal, "internal error: not an integer operation");
  }
}

template <class T>
Scalar apply_float(Op op, DType result, std::span<const Scalar> v) {
  const T a = static_cast<T>(v[0].f);
  if (op == Op::Fma)
    return Scalar::of_float(
        static_cast<double>(std::fma(a, static_cast<T>(v[1].f), static_cast<T>(v[2].f))));
  if (op == Op::IsNan) return Scalar::of_int(std::isnan(a));
  if (op == Op::IsInf) return Scalar::of_int(std::isinf(a));
  if (v.size() == 1) return Scalar::of_float(static_cast<double>(unary<T>(op, a)));
  const T b = static_cast<T>(v[1].f);
  if (result == DType::Bool) return Scalar::of_int(compare(op, a, b));
  return Scalar::of_float(static_cast<double>(binary<T>(op, a, b)));
}

Scalar cast(DType from, DType to, Scalar v) {
  if (is_float(from)) {
    if (is_float(to)) return Scalar::of_float(round_to(v.f, to));
    if (to == DType::Bool) return Scalar::of_int(v.f != 0);
    return Scalar::of_int(saturate_to(v.f, to));
  }
  if (to == DType::Bool) return Scalar::of_int(v.i != 0);
  if (to == DType::Float32) return Scalar::of_float(static_cast<double>(static_cast<float>(v.i)));
  if (is_float(to)) return Scalar::of_float(round_to(static_cast<double>(v.i), to));
  return Scalar::of_int(wrap_to(v.i, to));
}

template <class T>
T load_as(const void* address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}
template <class T, class V>
void store_as(void* address, V value) {
  const T narrow = static_cast<T>(value);
  std::memcpy(address, &narrow, sizeof narrow);
}

}  // namespace

double round_to(double value, DType dtype) {
  switch (dtype) {
    case DType::Float64: return value;
    case DType::Float32: return static_cast<double>(static_cast<float>(value));
    case DType::Float16: return static_cast<double>(static_cast<_Float16>(value));
    case DType::BFloat16:
      return static_cast<double>(bfloat16_to_float(float_to_bfloat16(to_float_odd(value))));
    default: throw Error(ErrorCode::Internal, "internal error: rounding to an integer type");
  }
}

int64_t wrap_to(int64_t value, DType dtype) {
  switch (dtype) {
    case DType::Bool: return value != 0;
    case DType::UInt8: return static_cast<uint8_t>(value);
    case DType::Int8: return static_cast<int8_t>(value);
    case DType::Int16: return static_cast<int16_t>(value);
    case DType::Int32: return static_cast<int32_t>(value);
    default: return value;
  }
}

int64_t saturate_to(double value, DType dtype) {
  if (std::isnan(value)) return 0;
  const int bits = bit_width_of(dtype);
  const double low = dtype == DType::UInt8 ? 0.0 : -std::ldexp(1.0, bits - 1);
  const double high = dtype == DType::UInt8 ? 255.0 : std::ldexp(1.0, bits - 1);
  if (value <= low) return dtype == DType::UInt8 ? 0 : INT64_MIN >> (64 - bits);
  if (value >= high) return dtype == DType::UInt8 ? 255 : INT64_MAX >> (64 - bits);
  return wrap_to(static_cast<int64_t>(value), dtype);
}

Scalar lowest_of(DType dtype) {
  if (is_float(dtype)) return Scalar::of_float(-std::numeric_limits<double>::infinity());
  if (dtype == DType::Bool || dtype == DType::UInt8) return Scalar::of_int(0);
  return Scalar::of_int(saturate_to(-std::numeric_limits<double>::infinity(), dtype));
}

Scalar highest_of(DType dtype) {
  if (is_float(dtype)) return Scalar::of_float(std::numeric_limits<double>::infinity());
  if (dtype == DType::Bool) return Scalar::of_int(1);
  return Scalar::of_int(saturate_to(std::numeric_limits<double>::infinity(), dtype));
}

Scalar apply(Op op, DType operand, DType result, std::span<const Scalar> values) {
  if (op == Op::Select) return values[0].i ? values[1] : values[2];
  if (op == Op::Cast) return cast(operand, result, values[0]);
  if (op == Op::Not) return Scalar::of_int(!values[0].i);
  if (op == Op::And) return Scalar::of_int(values[0].i && values[1].i);
  if (op == Op::Or) return Scalar::of_int(values[0].i || values[1].i);
  if (is_float(operand)) {
    Scalar out = operand == DType::Float64 ? apply_float<double>(op, result, values)
                                           : apply_float<float>(op, result, values);
    if (is_float(result) && result != DType::Float64) out.f = round_to(out.f, result);
    return out;
  }
  if (result == DType::Bool && operand != DType::Bool)
    return Scalar::of_int(compare(op, values[0].i, values[1].i));
  if (info(op).rule == TypeRule::Comparison)
    return Scalar::of_int(compare(op, values[0].i, values[1].i));
  return Scalar::of_int(wrap_to(integer(op, values, result), result));
}

Scalar load_element(const void* address, DType dtype) {
  switch (dtype) {
    case DType::Bool: return Scalar::of_int(load_as<uint8_t>(address) != 0);
    case DType::UInt8: return Scalar::of_int(load_as<uint8_t>(address));
    case DType::Int8: return Scalar::of_int(load_as<int8_t>(address));
    case DType::Int16: return Scalar::of_int(load_as<int16_t>(address));
    case DType::Int32: return Scalar::of_int(load_as<int32_t>(address));
    case DType::Int64: return Scalar::of_int(load_as<int64_t>(address));
    case DType::Float16: return Scalar::of_float(static_cast<double>(load_as<_Float16>(address)));
    case DType::BFloat16:
      return Scalar::of_float(static_cast<double>(bfloat16_to_float(load_as<uint16_t>(address))));
    case DType::Float32: return Scalar::of_float(static_cast<double>(load_as<float>(address)));
    case DType::Float64: return Scalar::of_float(load_as<double>(address));
  }
  throw Error(ErrorCode::Internal, "internal error: unknown dtype");
}

void store_element(void* address, DType dtype, Scalar value) {
  switch (dtype) {
    case DType::Bool: return store_as<uint8_t>(address, value.i != 0);
    case DType::UInt8: return store_as<uint8_t>(address, value.i);
    case DType::Int8: return store_as<int8_t>(address, value.i);
    case DType::Int16: return store_as<int16_t>(address, value.i);
    case DType::Int32: return store_as<int32_t>(address, value.i);
    case DType::Int64: return store_as<int64_t>(address, value.i);
    case DType::Float16: return store_as<_Float16>(address, value.f);
    case DType::BFloat16:
      return store_as<uint16_t>(address, float_to_bfloat16(to_float_odd(value.f)));
    case DType::Float32: return store_as<float>(address, value.f);
    case DType::Float64: return store_as<double>(address, value.f);
  }
}

}  // namespace adjit::expr
