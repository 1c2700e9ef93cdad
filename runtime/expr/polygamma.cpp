// runtime/expr/polygamma.cpp -- recurrence, Euler's and Maclaurin's sum, on both sides of 0.
#include "runtime/expr/polygamma.hpp"

#include <cmath>
#include <initializer_list>
#include <limits>
#include <numbers>

namespace adjit::expr {
namespace {

using Wide = long double;

// sum over k >= 0 of (x + k)^-s for x > 0, s >= 2: terms up to x + k >= 16 + s, then the integral
// and its corrections B_2j / (2j)! * s (s + 1) ... (s + 2j - 2) * y^(-s - 2j + 1).
Wide zeta(int s, Wide x) {
  Wide sum = 0;
  Wide y = x;
  for (; y < 16 + s; y += 1) sum += std::pow(y, -s);
  const Wide first = std::pow(y, -s);
  sum += first * y / static_cast<Wide>(s - 1) + first / 2;
  constexpr Wide kBernoulli[] = {1.0L / 6,  -1.0L / 30,     1.0L / 42, -1.0L / 30,
                                 5.0L / 66, -691.0L / 2730, 7.0L / 6,  -3617.0L / 510};
  Wide rising = static_cast<Wide>(s) / (2 * y);  // s ... (s + 2j - 2) / (2j)! y^(1 - 2j)
  Wide j2 = 2;
  for (Wide bernoulli : kBernoulli) {
    sum += bernoulli * rising * first;
    rising *= (static_cast<Wide>(s) + j2 - 1) * (static_cast<Wide>(s) + j2) /
              ((j2 + 1) * (j2 + 2) * y * y);
    j2 += 2;
  }
  return sum;
}

// The same for an x < 0 that is no whole number. Of the numbers x + k, those below 0 are -f, -f -
// 1,
// ... x, the others g, g + 1, ...: their parts are taken apart, so that what is large and of
// opposite sign is exactly so.
Wide zeta_below(int s, Wide x) {
  const Wide f = -x - std::floor(-x), g = x + std::ceil(-x);
  const Wide sign = s % 2 == 0 ? 1 : -1;
  return (zeta(s, g) + sign * zeta(s, f)) - sign * zeta(s, 1 - x);
}

// log(y) - 1/(2y) - sum of B_2j / (2j y^2j), with y >= 16.
Wide digamma(Wide x) {
  Wide sum = 0;
  for (; x < 16; x += 1) sum -= 1 / x;
  const Wide r = 1 / (x * x);
  Wide tail = 0;
  for (Wide term : {-3617.0L / 8160, 1.0L / 12, -691.0L / 32760, 1.0L / 132, -1.0L / 240,
                    1.0L / 252, -1.0L / 120, 1.0L / 12})
    tail = r * (term + tail);
  return sum + std::log(x) - 0.5L / x - tail;
}

}  // namespace

double polygamma(double order, double x) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kHighest = 170;
  if (!(order >= 0 && order <= kHighest) || order != std::floor(order)) return kNaN;
  if (std::isnan(x) || x == -kInf) return kNaN;
  const int n = static_cast<int>(order);
  if (x == kInf) return n == 0 ? kInf : 0;
  if (x <= 0 && x == std::floor(x)) {
    if (n % 2 == 1) return kInf;
    return x == 0 ? std::copysign(kInf, -x) : kNaN;
  }
  const Wide wide = x;
  if (n == 0 && x > 0) return static_cast<double>(digamma(wide));
  if (n == 0) {
    constexpr Wide kPi = std::numbers::pi_v<Wide>;
    const Wide fraction = wide - std::round(wide);  // the cotangent has period pi
    return static_cast<double>(digamma(1 - wide) - kPi / std::tan(kPi * fraction));
  }
  const Wide sum = x > 0 ? zeta(n + 1, wide) : zeta_below(n + 1, wide);
  const Wide size = std::tgamma(static_cast<Wide>(n + 1)) * sum;
  return static_cast<double>(n % 2 == 0 ? -size : size);
}

}  // namespace adjit::expr
