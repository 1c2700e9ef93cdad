#include "jit/cpu/math_symbols.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "tests/jit/cpu/function_points.hpp"

namespace adjit::cpu {
namespace {

const void* address_of(const std::string& name) {
  for (const RuntimeSymbol& symbol : runtime_symbols())
    if (symbol.name == name) return symbol.address;
  return nullptr;
}

template <class T>
std::vector<T> apply(const std::string& name, std::vector<T> values) {
  using Function = void (*)(T*, int64_t);
  const auto function = reinterpret_cast<Function>(const_cast<void*>(address_of(name)));
  if (!function) {
    ADD_FAILURE() << name << " is not in the table";
    return values;
  }
  function(values.data(), static_cast<int64_t>(values.size()));
  return values;
}

void expect_points(const std::string& name, const std::vector<testing::Point>& points,
                   double absolute) {
  for (const testing::Point& point : points) {
    const double got = apply<double>(name + "_f64", {point.x})[0];
    const double unit = std::nextafter(std::fabs(point.value), 1e308) - std::fabs(point.value);
    EXPECT_NEAR(got, point.value, 2 * unit + absolute) << name << "(" << point.x << ")";
    const float narrow = static_cast<float>(point.x);
    const double of_narrow = apply<double>(name + "_f64", {static_cast<double>(narrow)})[0];
    EXPECT_EQ(apply<float>(name + "_f32", {narrow})[0], static_cast<float>(of_narrow));
  }
}

TEST(RuntimeSymbols, NamesAreDifferentAndHaveAddresses) {
  std::set<std::string> names;
  for (const RuntimeSymbol& symbol : runtime_symbols()) {
    EXPECT_TRUE(names.insert(symbol.name).second) << symbol.name;
    EXPECT_NE(symbol.address, nullptr) << symbol.name;
  }
}

// What LLVM may call without being asked.
TEST(RuntimeSymbols, HoldTheBackEndsFunctions) {
  for (const char* name : {"memcpy", "memmove", "memset", "fmaf", "fma", "floorf", "rint"})
    EXPECT_NE(address_of(name), nullptr) << name;
  const auto fma_f64 =
      reinterpret_cast<double (*)(double, double, double)>(const_cast<void*>(address_of("fma")));
  EXPECT_EQ(fma_f64(1 + 0x1p-30, 1 + 0x1p-30, -1 - 0x1p-29), 0x1p-60);
  const auto rint_f32 = reinterpret_cast<float (*)(float)>(const_cast<void*>(address_of("rintf")));
  EXPECT_EQ(rint_f32(2.5f), 2.0f);
}

TEST(RuntimeSymbols, Digamma) {
  expect_points("adjit_math_digamma", testing::kDigammaPoints, 1e-18);
  // Next to its root what matters is the distance to it.
  EXPECT_NEAR(apply<double>("adjit_math_digamma_f64", {1.4616321449683622})[0],
              -9.2412655217294275e-17, 2e-18);
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> special =
      apply<double>("adjit_math_digamma_f64", {0.0, -0.0, inf, -inf, -3, std::nan("")});
  EXPECT_EQ(special[0], -inf);
  EXPECT_EQ(special[1], inf);
  EXPECT_EQ(special[2], inf);
  for (size_t k = 3; k < 6; ++k) EXPECT_TRUE(std::isnan(special[k])) << k;
}

TEST(RuntimeSymbols, PolygammaTakesItsOrderBeforeTheArgument) {
  std::vector<double> y{1, 2, 0, 1, 0.5, 1};
  using Function = void (*)(double*, int64_t);
  reinterpret_cast<Function>(const_cast<void*>(address_of("adjit_math_polygamma_f64")))(y.data(),
                                                                                        3);
  EXPECT_NEAR(y[0], 1.6449340668482264, 1e-15);
  EXPECT_NEAR(y[1], -16.828796644234319, 1e-14);
  EXPECT_NEAR(y[2], -0.57721566490153286, 1e-15);
}

TEST(RuntimeSymbols, InverseOfErf) {
  expect_points("adjit_math_erfinv", testing::kErfinvPoints, 0);
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> special =
      apply<double>("adjit_math_erfinv_f64", {1, -1, -0.0, 1.5, std::nan("")});
  EXPECT_EQ(special[0], inf);
  EXPECT_EQ(special[1], -inf);
  EXPECT_TRUE(special[2] == 0 && std::signbit(special[2]));
  EXPECT_TRUE(std::isnan(special[3]) && std::isnan(special[4]));
}

TEST(RuntimeSymbols, LogarithmOfGamma) {
  expect_points("adjit_math_lgamma", testing::kLgammaPoints, 0);
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(apply<double>("adjit_math_lgamma_f64", {0, -2, inf, -inf, 1}),
            (std::vector<double>{inf, inf, inf, inf, 0}));
}

void expect_units(const std::string& name, const std::vector<testing::HardPoint>& points,
                  double most, double absolute) {
  for (const testing::HardPoint& point : points) {
    const double got = apply<double>(name + "_f64", {point.x})[0];
    int exponent = 0;
    std::frexp(point.value, &exponent);
    const double error = std::fabs((got - point.value) - point.rest);
    EXPECT_LE(error, most * std::ldexp(1.0, exponent - 53) + absolute)
        << name << "(" << point.x << ") = " << got << ", not " << point.value;
  }
}

TEST(RuntimeSymbols, GammaFunctionsAndErfinvHoldTheirBoundsWhereTheyErrMost) {
  expect_units("adjit_math_lgamma", testing::kHardLgammaPoints, 7, 0);
  expect_units("adjit_math_digamma", testing::kHardDigammaPoints, 0.51, 0x1p-59);
  expect_units("adjit_math_erfinv", testing::kHardErfinvPoints, 0.51, 0);
}

// The divisors follow the dividends: here three of each.
TEST(RuntimeSymbols, RemainderTakesDivisorsFromTheSecondHalf) {
  std::vector<double> values{7, -7, 1e20, 3, 3, 7};
  using Function = void (*)(double*, int64_t);
  reinterpret_cast<Function>(const_cast<void*>(address_of("adjit_math_fmod_f64")))(values.data(),
                                                                                   3);
  EXPECT_EQ(values, (std::vector<double>{1, -1, std::fmod(1e20, 7), 3, 3, 7}));
}

}  // namespace
}  // namespace adjit::cpu
