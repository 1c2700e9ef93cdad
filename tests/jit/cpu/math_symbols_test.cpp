#include "jit/cpu/math_symbols.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <vector>

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

/// Values by mpmath to 20 digits.
struct Point {
  double x, value;
};

void expect_points(const std::string& name, const std::vector<Point>& points, double absolute) {
  for (const Point& point : points) {
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
  expect_points("adjit_math_digamma",
                {{0.1, -10.423754940411076232},
                 {0.5, -1.9635100260214234794},
                 {1, -0.57721566490153286061},
                 {1.46, -0.0015805619870834521062},
                 {2, 0.42278433509846713939},
                 {3.5, 1.1031566406452431872},
                 {10, 2.2517525890667211076},
                 {100.25, 4.6026712432747125591},
                 {1e6, 13.815510057964190771},
                 {1e-10, -10000000000.5772153},
                 {-0.5, 0.036489973978576520559},
                 {-1.5, 0.70315664064524318723},
                 {-10.25, 5.5168584198862733053},
                 {-100.75, 1.4760041167485508955}},
                1e-18);
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
  expect_points("adjit_math_erfinv",
                {{1e-300, 8.8622692545275803586e-301},
                 {1e-10, 8.8622692545275804594e-11},
                 {0.1, 0.088855990494257691974},
                 {0.25, 0.22531205501217810473},
                 {0.5, 0.47693627620446987338},
                 {0.7, 0.73286907795921678488},
                 {0.9, 1.1630871536766741628},
                 {0.99, 1.8213863677184494559},
                 {0.999999, 3.4589107372754987775},
                 {1 - 0x1p-53, 5.8635847487551679272},
                 {-0.3, -0.27246271472675434502},
                 {-0.95, -1.3859038243496776766}},
                0);
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> special =
      apply<double>("adjit_math_erfinv_f64", {1, -1, -0.0, 1.5, std::nan("")});
  EXPECT_EQ(special[0], inf);
  EXPECT_EQ(special[1], -inf);
  EXPECT_TRUE(special[2] == 0 && std::signbit(special[2]));
  EXPECT_TRUE(std::isnan(special[3]) && std::isnan(special[4]));
}

TEST(RuntimeSymbols, LogarithmOfGamma) {
  expect_points("adjit_math_lgamma",
                {{0.1, 2.252712651734205902},
                 {0.5, 0.57236494292470008707},
                 {1.5, -0.12078223763524522235},
                 {2.5, 0.28468287047291915963},
                 {10, 12.801827480081469611},
                 {100.25, 360.28455963776423497},
                 {1e6, 12815504.56914761166},
                 {-0.5, 1.2655121234846453965},
                 {-1.5, 0.86004701537648101451},
                 {-10.25, -14.203997900931090652}},
                0);
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(apply<double>("adjit_math_lgamma_f64", {0, -2, inf, -inf, 1}),
            (std::vector<double>{inf, inf, inf, inf, 0}));
}

/// Where a sweep against mpmath found the largest errors, and numbers next to zeros: the exact
/// value is value + rest.
struct HardPoint {
  double x, value, rest;
};

void expect_units(const std::string& name, const std::vector<HardPoint>& points, double most,
                  double absolute) {
  for (const HardPoint& point : points) {
    const double got = apply<double>(name + "_f64", {point.x})[0];
    int exponent = 0;
    std::frexp(point.value, &exponent);
    const double error = std::fabs((got - point.value) - point.rest);
    EXPECT_LE(error, most * std::ldexp(1.0, exponent - 53) + absolute)
        << name << "(" << point.x << ") = " << got << ", not " << point.value;
  }
}

TEST(RuntimeSymbols, GammaFunctionsAndErfinvHoldTheirBoundsWhereTheyErrMost) {
  expect_units("adjit_math_lgamma",
               {{-0x1.f61477bb7568ep+1, -0x1.fa7f1eea09098p-2, -8.91616e-18},
                {-0x1.600000159cadep+3, -0x1.e5ac34a9abeb4p-2, 3.70097e-18},
                {-0x1.f6a7087874b6ep+1, -0x1.c595668222668p-2, 1.93689e-17},
                {0x1.db7ecf606793cp+3, 0x1.8d0c08b411783p+4, 1.5521e-15},
                {0x1.8700471f2fe36p-1, 0x1.826486e47b42ep-3, 8.73343e-18},
                {-0x1.3a7fc9600f86cp+1, 0x1.0323b6d1fe86dp-54, -2.10993e-33},
                {-0x1.5fb410a1bd901p+1, 0x1.8fb8530ba7689p-53, -8.20239e-33},
                {-0x1.9260dbc9e59afp+1, 0x1.e9605e3ae7a62p-50, -2.65025e-32},
                {-0x1.fa471547c2fe5p+1, -0x1.ddc0336980b58p-52, -1.48484e-32}},
               7, 0);
  expect_units("adjit_math_digamma",
               {{0x1.762d86356be3fp+0, -0x1.aa2d9b3ce29e0p-54, -2.59074e-33},
                {-0x1.02172b05ee260p-1, 0x1.502e5780c52dap-54, 3.86631e-33},
                {-0x1.92d0cbc289d4ap+0, 0x1.68dc0bb58132fp-53, -3.96165e-33},
                {-0x1.367c4b1f635e4p+3, 0x1.63e93516bf585p-48, 3.80493e-31},
                {0x1.76e46067c3c82p+0, 0x1.616e63c891190p-9, -9.20372e-20},
                {0x1.730b51f0b15d6p+0, -0x1.86532ae47bad3p-7, -8.35178e-19},
                {-0x1.7ffffffab2ba4p+4, -0x1.8247d2cf0cf7dp+25, 3.72106e-9}},
               0.51, 0x1p-59);
  expect_units("adjit_math_erfinv",
               {{0x1.19a475c2ee3c0p-59, 0x1.f332bcecda3d2p-60, 3.95419e-35},
                {-0x1.1f9dc37947198p-3, -0x1.00394eb8415c3p-3, 1.38753e-17},
                {0x1.fffffff940811p-1, 0x1.1637e69907d59p+2, 4.44024e-16},
                {-0x1.b081da60de6a8p-1, -0x1.0143a686cfdc0p+0, 1.0747e-16}},
               0.51, 0);
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
