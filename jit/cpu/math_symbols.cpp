// jit/cpu/math_symbols.cpp -- the table of callable functions, and those that vectors have no
// polynomial for.
#include "jit/cpu/math_symbols.hpp"

#include <array>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numbers>

#include "jit/cpu/float_mode.hpp"
#include "runtime/expr/floored_division.hpp"
#include "runtime/expr/polygamma.hpp"

namespace adjit::cpu {
namespace {

constexpr double kPi = std::numbers::pi;

// log(|gamma(x)|). glibc's lgamma writes the global signgam, its lgamma_r does not.
double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

double digamma(double x) { return polygamma(0, x); }

// Inverse of erf: a start good to a few per cent (Winitzki), then Halley steps on erf or, near the
// ends, on erfc.
double erfinv(double y) {
  if (!(y >= -1 && y <= 1)) return std::numeric_limits<double>::quiet_NaN();
  if (y == 1 || y == -1) return std::copysign(std::numeric_limits<double>::infinity(), y);
  if (std::fabs(y) < 0x1p-40)
    return static_cast<double>(y * (std::sqrt(std::numbers::pi_v<long double>) / 2));
  const long double target = std::fabs(y), complement = 1 - target;
  const double w = std::log1p(-y * y);
  const double b = 2 / (kPi * 0.147) + w / 2;
  long double x = std::sqrt(std::sqrt(b * b - w / 0.147) - b);
  for (int step = 0; step < 6; ++step) {
    const long double error = target < 0.5L ? std::erf(x) - target : complement - std::erfc(x);
    const long double slope = 2 / std::sqrt(std::numbers::pi_v<long double>) * std::exp(-x * x);
    const long double newton = error / slope;
    const long double next = x - newton / (1 + x * newton);
    if (std::fabs(next - x) <= std::fabs(x) * 1e-18L) break;
    x = next;
  }
  return std::copysign(static_cast<double>(x), y);
}

// The C library's functions get the subnormal numbers and the rounding that C gives them.
constexpr FloatMode kOfLibrary = FloatMode::KeepSubnormals;

// Functions in long double leave the mode of the other unit as it was, too, and its flags. Setting
// both takes 170 ns, the first alone 4.
class LongDoubleScope {
 public:
  LongDoubleScope() {
    std::fegetenv(&outer_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~LongDoubleScope() { std::fesetenv(&outer_); }
  LongDoubleScope(const LongDoubleScope&) = delete;
  LongDoubleScope& operator=(const LongDoubleScope&) = delete;

 private:
  std::fenv_t outer_;
};

template <class T, T (*function)(T)>
void apply(T* values, int64_t count) {
  const FloatModeScope mode(kOfLibrary);
  for (int64_t k = 0; k < count; ++k) values[k] = function(values[k]);
}

template <class T, T (*function)(T)>
void apply_long(T* values, int64_t count) {
  const LongDoubleScope mode;
  for (int64_t k = 0; k < count; ++k) values[k] = function(values[k]);
}

/// values[k] = function(values[k], values[count + k])
template <class T, T (*function)(T, T)>
void apply(T* values, int64_t count) {
  const FloatModeScope mode(kOfLibrary);
  for (int64_t k = 0; k < count; ++k) values[k] = function(values[k], values[count + k]);
}
template <class T>
T truncated_rest(T a, T b) {
  return std::fmod(a, b);
}

/// values[k] = polygamma(values[k], values[count + k])
template <class T>
void apply_polygamma(T* values, int64_t count) {
  const LongDoubleScope mode;
  for (int64_t k = 0; k < count; ++k)
    values[k] = static_cast<T>(
        polygamma(static_cast<double>(values[k]), static_cast<double>(values[count + k])));
}

// In float: computed in double and rounded.
template <double (*function)(double)>
float narrow(float x) {
  return static_cast<float>(function(static_cast<double>(x)));
}

template <class Function>
RuntimeSymbol symbol(const char* name, Function* function) {
  return {name, reinterpret_cast<void*>(function)};
}

template <class T>
using Unary = T (*)(T);

// Overloads and built-ins of the C++ library have no one address; these have.
float fma_f32(float a, float b, float c) { return std::fma(a, b, c); }
double fma_f64(double a, double b, double c) { return std::fma(a, b, c); }
template <class T>
T sine(T x) {
  return std::sin(x);
}
template <class T>
T cosine(T x) {
  return std::cos(x);
}
template <class T>
T tangent(T x) {
  return std::tan(x);
}
template <class T>
T floor_of(T x) {
  return std::floor(x);
}
template <class T>
T ceil_of(T x) {
  return std::ceil(x);
}
template <class T>
T trunc_of(T x) {
  return std::trunc(x);
}
template <class T>
T rint_of(T x) {
  return std::rint(x);
}

}  // namespace

std::span<const RuntimeSymbol> runtime_symbols() {
  static const std::array symbols{
      symbol("adjit_math_digamma_f32", apply_long<float, narrow<digamma>>),
      symbol("adjit_math_digamma_f64", apply_long<double, digamma>),
      symbol("adjit_math_erfinv_f32", apply_long<float, narrow<erfinv>>),
      symbol("adjit_math_erfinv_f64", apply_long<double, erfinv>),
      symbol("adjit_math_lgamma_f32", apply<float, narrow<log_gamma>>),
      symbol("adjit_math_lgamma_f64", apply<double, log_gamma>),
      symbol("adjit_math_polygamma_f32", apply_polygamma<float>),
      symbol("adjit_math_polygamma_f64", apply_polygamma<double>),
      symbol("adjit_math_fmod_f32", apply<float, truncated_rest<float>>),
      symbol("adjit_math_fmod_f64", apply<double, truncated_rest<double>>),
      symbol("adjit_math_remainder_f32", apply<float, floored_rest<float>>),
      symbol("adjit_math_remainder_f64", apply<double, floored_rest<double>>),
      symbol("adjit_math_sin_f32", apply<float, sine<float>>),
      symbol("adjit_math_sin_f64", apply<double, sine<double>>),
      symbol("adjit_math_cos_f32", apply<float, cosine<float>>),
      symbol("adjit_math_cos_f64", apply<double, cosine<double>>),
      symbol("adjit_math_tan_f32", apply<float, tangent<float>>),
      symbol("adjit_math_tan_f64", apply<double, tangent<double>>),
      // What LLVM's back end may call: for copies and fills, and on CPUs without FMA or SSE4.1.
      symbol("memcpy", std::memcpy),
      symbol("memmove", std::memmove),
      symbol("memset", std::memset),
      symbol("fmaf", fma_f32),
      symbol("fma", fma_f64),
      symbol("floorf", floor_of<float>),
      symbol("floor", floor_of<double>),
      symbol("ceilf", ceil_of<float>),
      symbol("ceil", ceil_of<double>),
      symbol("truncf", trunc_of<float>),
      symbol("trunc", trunc_of<double>),
      symbol("rintf", rint_of<float>),
      symbol("rint", rint_of<double>),
  };
  return symbols;
}

}  // namespace adjit::cpu
