// runtime/expr/polygamma.cpp -- recurrence, Euler's and Maclaurin's sum, reflection.
#include "runtime/expr/polygamma.hpp"

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

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

// The derivative of that order of pi cot(pi x): pi^(order + 1) P(cot), where P_0 = c and
// P_{n+1} = -(1 + c^2) P_n'.
Wide cotangent_derivative(int order, Wide x) {
  std::vector<Wide> p{0, 1};
  for (int n = 0; n < order; ++n) {
    std::vector<Wide> next(p.size() + 1, 0);
    for (size_t k = 1; k < p.size(); ++k) {
      const Wide slope = static_cast<Wide>(k) * p[k];
      next[k - 1] -= slope;
      next[k + 1] -= slope;
    }
    p = std::move(next);
  }
  constexpr Wide kPi = std::numbers::pi_v<Wide>;
  const Wide fraction = x - std::round(x);  // the cotangent has period pi
  const Wide c = 1 / std::tan(kPi * fraction);
  Wide value = 0;
  for (size_t k = p.size(); k-- > 0;) value = value * c + p[k];
  return value * std::pow(kPi, static_cast<Wide>(order + 1));
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

Wide at_positive(int order, Wide x) {
  if (order == 0) return digamma(x);
  const Wide size = std::tgamma(static_cast<Wide>(order + 1)) * zeta(order + 1, x);
  return order % 2 == 0 ? -size : size;
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
  if (x > 0) return static_cast<double>(at_positive(n, x));
  const Wide mirrored = at_positive(n, 1 - static_cast<Wide>(x));
  return static_cast<double>((n % 2 == 0 ? mirrored : -mirrored) - cotangent_derivative(n, x));
}

}  // namespace adjit::expr
