// tests/jit/emit/math/polygamma_test.cpp -- derivatives of digamma without a library.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "jit/emit/math/elementary.hpp"
#include "tests/jit/emit/math/without_library.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using Polygamma = WithoutLibrary;

using emit::elementary::polygamma;

/// Values by mpmath to 20 digits.
struct OrderPoint {
  double order, x, value;
};
constexpr double kNoLimit = std::numeric_limits<double>::infinity();
const OrderPoint kPolygammaPoints[] = {
    {1, 0.001, 1000001.6425331958273},
    {1, 1, 1.6449340668482264365},
    {1, 2.5, 0.49035775610023486497},
    {1, 1e10, 1.00000000005e-10},
    {1, 1.6e308, 6.2500000000000000873e-309},
    {1, -0.3, 13.945160267805722489},
    {1, -7.25, 19.610354539293269016},
    {2, 0.3, -75.272536588726038917},
    {2, 1, -2.4041138063191885708},
    {2, 17.5, -0.0034572203720343102715},
    {2, -1.25, 123.72136678366236037},
    {2, -100.3, 68.837445297961501033},
    {3, 0.5, 97.409091034002437236},
    {3, -0.5, 193.40909103400243724},
    {5, 10, 0.00030594516211726820905},
    {5, -3.75, 492231.25090337614168},
    {10, 0.7, -183531159.52578708203},
    {10, 200, -3.6331558065944878922e-18},
    {10, -2.125, 31171154632675891.623},
    {50, 1e-5, -kNoLimit},
    {50, 3.5, -5.440086301325621684e+36},
    {50, 1000, -6.2361816459431345833e-88},
    {50, -4.0625, 7.8197701515955116065e+125},
    {101, 31, 74625724.279188712161},
    {170, 1.5, -5.6127628949062966701e+276},
    {170, 1000, -4.6422754818855407593e-206},
    {170, 20000, -0.0},
    {170, -9.9, -kNoLimit},
};

TEST_F(Polygamma, IsGoodToItsBound) {
  std::vector<double> orders, x;
  for (const OrderPoint& point : kPolygammaPoints) {
    orders.push_back(point.order);
    x.push_back(point.x);
  }
  const std::vector<double> got = computed(polygamma, orders, x, false);
  for (size_t k = 0; k < x.size(); ++k)
    EXPECT_LE(ulps(got[k], static_cast<long double>(kPolygammaPoints[k].value)), 2)
        << orders[k] << ", " << x[k] << ": " << got[k];
}

// The library's to 1e-15 of the result or, where terms of both signs cancel, of the largest one.
template <class T>
void expect_library(const std::vector<T>& orders, const std::vector<T>& x, double relative) {
  const std::vector<T> own = computed(polygamma, orders, x, false),
                       right = computed(polygamma, orders, x, true);
  for (size_t k = 0; k < x.size(); ++k) {
    const T size = std::fabs(right[k]);
    if (std::isnan(right[k]) && std::isnan(own[k])) continue;
    if (std::isinf(right[k]) || right[k] == 0) {
      ASSERT_TRUE(own[k] == right[k] && std::signbit(own[k]) == std::signbit(right[k]))
          << orders[k] << ", " << x[k] << " gives " << own[k] << ", not " << right[k];
      continue;
    }
    const auto at = static_cast<double>(x[k]), order = static_cast<double>(orders[k]);
    const double nearest = std::fabs(at - std::round(at));
    const double term = at < 0 ? std::tgamma(order + 1) * std::pow(nearest, -order - 1) : 0;
    const double room = relative * std::max(static_cast<double>(size), std::min(term, 1e300)) +
                        static_cast<double>(std::numeric_limits<T>::denorm_min());
    ASSERT_LE(static_cast<double>(std::fabs(own[k] - right[k])), room)
        << orders[k] << ", " << x[k] << " gives " << own[k] << ", not " << right[k];
  }
}

template <class T>
void expect_library_everywhere(double relative) {
  std::vector<T> orders, x;
  for (T order :
       {T(0), T(1), T(2), T(3), T(4), T(7), T(20), T(-1), T(0.5), T(171), T(NAN), T(-0.0)})
    for (T at : samples_between<T>(-12, 25, order > 3 ? 30 : 300)) {
      orders.push_back(order);
      x.push_back(at);
    }
  expect_library(orders, x, relative);
}

TEST_F(Polygamma, IsTheLibrarysWithinItsBound) {
  expect_library_everywhere<double>(2e-15);
  expect_library_everywhere<float>(2e-7);
}

}  // namespace
}  // namespace adjit::testing
