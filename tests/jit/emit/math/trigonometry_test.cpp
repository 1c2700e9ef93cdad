// tests/jit/emit/math/trigonometry_test.cpp -- trigonometric functions and their inverses,
// and the former where the reduction of their arguments cancels most: beside multiples of pi / 2.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/jit/emit/compiled_function.hpp"
#include "tests/jit/emit/math/bounded_functions.hpp"
#include "tests/jit/emit/math/function_samples.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

__extension__ typedef __float128 Quad;

// pi / 2 in two parts of 80 bits: products with integers below 2^32 are exact.
const Quad kQuarterTurn = Quad{0x1.921fb54442d18p+0} + Quad{0x1.1a6263p-54};
const Quad kQuarterTurnRest = Quad{0x1.8a2e03707344ap-81} + Quad{0x1.024e088p-135};

struct Exact {
  long double sine, cosine, tangent;
};

/// To 2^-62 of each value, for |x| up to 2^31: what is left of x comes from a difference that is
/// exact to 2^-160 and is at least 2^-62.
Exact exact(double x) {
  const double turns = std::nearbyint(x * 0.63661977236758134308);
  const Quad rest = (Quad{x} - Quad{turns} * kQuarterTurn) - Quad{turns} * kQuarterTurnRest;
  const auto r = static_cast<long double>(rest);
  const auto quadrant = static_cast<int64_t>(turns) & 3;
  long double sine = std::sin(r), cosine = std::cos(r);
  if (quadrant & 1) {
    const long double turned = -sine;
    sine = cosine;
    cosine = turned;
  }
  if (quadrant & 2) {
    sine = -sine;
    cosine = -cosine;
  }
  return {sine, cosine, sine / cosine};
}

/// Doubles that are nearest to a multiple of pi / 2 of all with their exponent, from the continued
/// fraction of pi / 2 (Kahan, "Minimizing q m - n", 1983), and what exponents they are so in: the
/// first lies 2^-60.5 from a multiple.
struct Nearest {
  double x;
  int times;  // 2^0 .. 2^(times - 1)
};
constexpr Nearest kNearest[] = {
    {0x1.921fb54442d18p+0, 3},  {0x1.2d97c7f3321d2p+2, 3},  {0x1.5fdbbe9bba775p+3, 2},
    {0x1.6c6cbc45dc8dep+5, 10}, {0x1.9eb0b2ee64e81p+5, 2},  {0x1.e0a9e6ab97de7p+7, 1},
    {0x1.4b7022674312bp+8, 1},  {0x1.b7099e6806f3cp+9, 1},  {0x1.91bb2d56f1c0dp+10, 1},
    {0x1.da2f23dfde4adp+11, 1}, {0x1.fe691f24548fdp+12, 1}, {0x1.5a4fbea3a16b6p+13, 1},
    {0x1.635e3d74befcap+14, 2}, {0x1.67e57cdd4dc54p+15, 2}, {0x1.65a1dd290660fp+16, 2},
    {0x1.0dec1da5fa53fp+17, 1}, {0x1.39c6fd67805a7p+18, 4}, {0x1.93c05c9ed3cbcp+18, 1},
    {0x1.a9adcc7f96cf0p+19, 1}, {0x1.9eb7148f354d6p+20, 4}, {0x1.d3ecce1f28274p+22, 1},
    {0x1.b951f1572eba5p+23, 7}, {0x1.4456bdcf64b08p+24, 1}, {0x1.1726926f7c621p+25, 2},
    {0x1.e1dcc9111b506p+27, 2}, {0x1.55202aefde314p+29, 1},
};

template <class T>
void add_with_neighbours(std::vector<T>& all, T x, int most) {
  T below = x, above = x;
  for (int k = 0; k <= most; ++k) {
    for (T value : {below, above}) {
      all.push_back(value);
      all.push_back(-value);
    }
    below = std::nextafter(below, T{0});
    above = std::nextafter(above, std::numeric_limits<T>::infinity());
  }
}

struct Worst {
  double error = -1, at = 0, got = 0;
  void take(double error_here, double x, double y) {
    if (error_here > error) *this = {error_here, x, y};
  }
};

template <class T>
void expect_bounds(const std::vector<T>& x, const std::string& target, double sines,
                   double tangents) {
  using Function = VectorMath::Unary;
  const auto run = [&](Function function) {
    const CompiledFunction f(element_of<T>(), element_of<T>(), 1,
                             [=](llvm::IRBuilder<>&, VectorMath& math, std::span<llvm::Value*> v) {
                               return math(function, v[0]);
                             },
                             {.lanes = 32 / sizeof(T), .target = target});
    return f.map<T>(x);
  };
  const std::vector<T> sine = run(emit::elementary::sin), cosine = run(emit::elementary::cos),
                       tangent = run(emit::elementary::tan);
  Worst worst[3];
  for (size_t k = 0; k < x.size(); ++k) {
    const auto at = static_cast<double>(x[k]);
    const Exact right = exact(at);
    worst[0].take(ulps(sine[k], right.sine), at, static_cast<double>(sine[k]));
    worst[1].take(ulps(cosine[k], right.cosine), at, static_cast<double>(cosine[k]));
    worst[2].take(ulps(tangent[k], right.tangent), at, static_cast<double>(tangent[k]));
  }
  const char* names[] = {"sin", "cos", "tan"};
  for (size_t k = 0; k < 3; ++k)
    EXPECT_LE(worst[k].error, k < 2 ? sines : tangents)
        << names[k] << "(" << std::hexfloat << worst[k].at << ") = " << worst[k].got << " on "
        << target << ", " << x.size() << " points";
}

// Without FMA products are rounded before they are added (vector_math.hpp).
double allowance(const std::string& target) { return target == "x86-64-v2" ? 0.9 : 0; }
const std::string kTrigonometryTargets[] = {"native", "x86-64-v3", "x86-64-v2"};

TEST(Trigonometry, DoublesNearestToMultiplesOfAQuarterTurn) {
  std::vector<double> x;
  for (const Nearest& nearest : kNearest)
    for (int k = 0; k < nearest.times; ++k) add_with_neighbours(x, std::ldexp(nearest.x, k), 2);
  for (const std::string& target : kTrigonometryTargets)
    expect_bounds(x, target, 1.0 + allowance(target), 2.5 + allowance(target));
}

TEST(Trigonometry, NeighboursOfAMillionMultiplesOfAQuarterTurn) {
  std::mt19937_64 random(8);
  // k pi / 2 up to 2^30, as many of every size.
  std::uniform_real_distribution<double> exponent(0, 29.3);
  std::vector<double> x;
  for (int k = 0; k < 250'000; ++k) {
    const double turns = std::floor(std::exp2(exponent(random)));
    add_with_neighbours(x, static_cast<double>(Quad{turns} * kQuarterTurn), 0);
    add_with_neighbours(x, std::nextafter(x[x.size() - 2], 0.0), 0);
  }
  for (const std::string& target : kTrigonometryTargets)
    expect_bounds(x, target, 1.0 + allowance(target), 2.5 + allowance(target));
}

// All multiples up to 2^15, where the C library takes over, and some beyond.
TEST(Trigonometry, FloatsBesideEveryMultipleOfAQuarterTurn) {
  std::vector<float> x;
  for (int turns = 1; turns < 21'000; ++turns)
    add_with_neighbours(x, static_cast<float>(turns * static_cast<double>(kQuarterTurn)), 1);
  for (const std::string& target : kTrigonometryTargets)
    expect_bounds(x, target, 1.6 + allowance(target), 3.0 + allowance(target));
}

const UnaryFunction kTrigonometry[] = {
    {ADJIT_C_FUNCTION(sin), 1.6, 1.0, -1000, 1000}, {ADJIT_C_FUNCTION(cos), 1.6, 1.0, -1000, 1000},
    {ADJIT_C_FUNCTION(tan), 3.0, 2.5, -1000, 1000}, {ADJIT_C_FUNCTION(asin), 1.8, 1.6, -1, 1},
    {ADJIT_C_FUNCTION(acos), 1.5, 1.5, -1, 1},      {ADJIT_C_FUNCTION(atan), 1.5, 1.5, -4, 4},
};
INSTANTIATE_TEST_SUITE_P(Trigonometry, UnaryFunctions, ::testing::ValuesIn(kTrigonometry),
                         name_of_function);

TEST(Trigonometry, HugeArgumentsAreExactlyReduced) {
  const std::vector<double> x{1e10, 0x1p60, 1e22, -1e300, std::numeric_limits<double>::max(), 3.0};
  const CompiledFunction sine(Element::F64, Element::F64, 1,
                              [](llvm::IRBuilder<>&, VectorMath& math, std::span<llvm::Value*> v) {
                                return math(emit::elementary::sin, v[0]);
                              },
                              {.lanes = 2});
  const std::vector<double> y = sine.map<double>(x);
  for (size_t k = 0; k < x.size(); ++k) EXPECT_LE(ulps(y[k], std::sin(1.0L * x[k])), 1) << x[k];
}

TEST(Trigonometry, SineAndCosineShareTheirReduction) {
  const CompiledFunction f(element_of<float>(), element_of<float>(), 1,
                           [](llvm::IRBuilder<>& b, VectorMath& math, std::span<llvm::Value*> v) {
                             llvm::Value* sine = math(emit::elementary::sin, v[0]);
                             llvm::Value* cosine = math(emit::elementary::cos, v[0]);
                             size_t calls = 0;
                             for (const llvm::User* user : v[0]->users())
                               calls += llvm::isa<llvm::CallInst>(user);
                             EXPECT_EQ(calls, 1u);
                             return b.CreateFAdd(b.CreateFMul(sine, sine),
                                                 b.CreateFMul(cosine, cosine));
                           },
                           {.lanes = 16});
  std::vector<float> x;
  for (int k = -4000; k < 4000; ++k) x.push_back(static_cast<float>(k) * 37.25f);
  for (float one : f.map<float>(x)) ASSERT_NEAR(one, 1, 5e-7);
}

TEST(Trigonometry, ArcTangentOfTwoKnowsItsQuadrant) {
  expect_binary_within<float, double>(emit::elementary::atan2, ::atan2, 2.0);
  expect_binary_within<double, long double>(emit::elementary::atan2, ::atan2l, 2.0);
}

}  // namespace
}  // namespace adjit::testing
