// tests/jit/emit/ir/lanes_test.cpp -- operators on registers against the same operators on numbers.
#include "jit/emit/ir/lanes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <type_traits>

#include "runtime/expr/error.hpp"
#include "tests/jit/emit/compiled_function.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/jit/emit/lane_formula.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

// Random values of all magnitudes with every special one among them.
template <class T>
std::vector<T> values(uint64_t seed, size_t count = 400) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> list{T(0),
                      -T(0),
                      T(1),
                      T(-1),
                      Limits::min(),
                      Limits::max(),
                      Limits::lowest(),
                      Limits::denorm_min(),
                      Limits::infinity(),
                      -Limits::infinity(),
                      Limits::quiet_NaN()};
  Random random(seed);
  while (list.size() < count)
    list.push_back(static_cast<T>(std::ldexp(static_cast<double>(random.between(-999983, 999983)),
                                             static_cast<int>(random.between(-60, 60)))));
  for (size_t k = count; k > 1; --k)
    std::swap(list[k - 1],
              list[static_cast<size_t>(random.between(0, static_cast<int64_t>(k) - 1))]);
  return list;
}

template <class T>
bool same_bits(T a, T b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

template <class T>
void expect_same(const char* name, const Formula& formula,
                 const std::type_identity_t<std::function<T(T, T)>>& meaning) {
  const std::vector<T> x = values<T>(1), y = values<T>(2);
  for (unsigned lanes : {0u, 4u, 16u}) {
    const std::vector<T> got = evaluate<T>(formula, x, y, {.lanes = lanes});
    for (size_t k = 0; k < x.size(); ++k)
      ASSERT_TRUE(same_bits(got[k], meaning(x[k], y[k])))
          << name << ", " << lanes << " lanes: " << x[k] << ", " << y[k] << " gives " << got[k];
  }
}

template <class T>
void arithmetic() {
  expect_same<T>("+", [](Floats a, Floats b) { return a + b; }, [](T a, T b) { return a + b; });
  expect_same<T>("-", [](Floats a, Floats b) { return a - b; }, [](T a, T b) { return a - b; });
  expect_same<T>("*", [](Floats a, Floats b) { return a * b; }, [](T a, T b) { return a * b; });
  expect_same<T>("/", [](Floats a, Floats b) { return a / b; }, [](T a, T b) { return a / b; });
  expect_same<T>("neg", [](Floats a, Floats) { return -a; }, [](T a, T) { return -a; });
  expect_same<T>("2 -", [](Floats a, Floats) { return 2.0 - a; }, [](T a, T) { return T(2) - a; });
  expect_same<T>("3 /", [](Floats a, Floats) { return 3.0 / a; }, [](T a, T) { return T(3) / a; });
  expect_same<T>(
      "fabs", [](Floats a, Floats) { return fabs(a); }, [](T a, T) { return std::fabs(a); });
  expect_same<T>(
      "copysign", [](Floats a, Floats b) { return copysign(a, b); },
      [](T a, T b) { return std::copysign(a, b); });
  expect_same<T>(
      "fused", [](Floats a, Floats b) { return fused(a, b, a); },
      [](T a, T b) { return std::fma(a, b, a); });
}

TEST(Lanes, ArithmeticOfFloat) { arithmetic<float>(); }
TEST(Lanes, ArithmeticOfDouble) { arithmetic<double>(); }

template <class T>
void comparisons() {
  const auto chosen = [](auto compare) {
    return [compare](Floats a, Floats b) { return select(compare(a, b), 1.0, b.constant(0.0)); };
  };
  const auto meant = [](auto compare) {
    return [compare](T a, T b) { return compare(a, b) ? T(1) : T(0); };
  };
  const auto both = [&](const char* name, auto compare) {
    expect_same<T>(name, chosen(compare), meant(compare));
  };
  both("<", [](auto a, auto b) { return a < b; });
  both("<=", [](auto a, auto b) { return a <= b; });
  both(">", [](auto a, auto b) { return a > b; });
  both(">=", [](auto a, auto b) { return a >= b; });
  both("==", [](auto a, auto b) { return a == b; });
  both("!=", [](auto a, auto b) { return a != b; });
  both("== itself", [](auto a, auto) { return a == a; });
  expect_same<T>("nan", chosen([](Floats a, Floats) { return is_nan(a); }),
                 meant([](T a, T) { return std::isnan(a); }));
  expect_same<T>("sign", chosen([](Floats a, Floats) { return sign_bit(a); }),
                 meant([](T a, T) { return std::signbit(a); }));
  expect_same<T>("masks",
                 chosen([](Floats a, Floats b) { return (a < b) & !(a < 0.0) | (b > 9.0); }),
                 meant([](T a, T b) { return ((a < b) & !(a < 0)) | (b > 9); }));
}

TEST(Lanes, ComparisonsOfFloat) { comparisons<float>(); }
TEST(Lanes, ComparisonsOfDouble) { comparisons<double>(); }

template <class T, class Bits>
void integers() {
  constexpr int kWidth = 8 * sizeof(T);
  const auto bits = [](T x) { return std::bit_cast<Bits>(x); };
  const auto floats = [](Bits x) { return std::bit_cast<T>(x); };
  const auto on_bits = [&](const char* name, auto formula, auto meaning) {
    expect_same<T>(
        name, [=](Floats a, Floats b) { return formula(a.bits(), b.bits()).as_floats(); },
        [=](T a, T b) { return floats(static_cast<Bits>(meaning(bits(a), bits(b)))); });
  };
  on_bits("bits", [](Ints a, Ints) { return a; }, [](Bits a, Bits) { return a; });
  on_bits("+", [](Ints a, Ints b) { return a + b; }, [](Bits a, Bits b) { return a + b; });
  on_bits("-", [](Ints a, Ints b) { return a - b; }, [](Bits a, Bits b) { return a - b; });
  on_bits("&", [](Ints a, Ints b) { return a & b; }, [](Bits a, Bits b) { return a & b; });
  on_bits("|", [](Ints a, Ints b) { return a | b; }, [](Bits a, Bits b) { return a | b; });
  on_bits("^", [](Ints a, Ints b) { return a ^ b; }, [](Bits a, Bits b) { return a ^ b; });
  on_bits("<<", [](Ints a, Ints) { return a << 3; }, [](Bits a, Bits) { return a << 3; });
  on_bits(
      ">>", [](Ints a, Ints) { return a >> (kWidth - 5); },
      [](Bits a, Bits) { return a >> (kWidth - 5); });
  on_bits(
      "constant", [](Ints a, Ints) { return a.constant(-2) + 1; },
      [](Bits, Bits) { return Bits(-1); });
}

TEST(Lanes, BitsOfFloat) { integers<float, uint32_t>(); }
TEST(Lanes, BitsOfDouble) { integers<double, uint64_t>(); }

TEST(Lanes, ConstantsAreOfTheOperandsType) {
  expect_same<float>(
      "inf", [](Floats a, Floats) { return a.infinity(); },
      [](float, float) { return std::numeric_limits<float>::infinity(); });
  expect_same<double>(
      "nan", [](Floats a, Floats) { return a.nan(); },
      [](double, double) { return std::numeric_limits<double>::quiet_NaN(); });
  expect_same<float>(
      "0.1", [](Floats a, Floats) { return a.constant(0.1); }, [](float, float) { return 0.1f; });
}

// The parts sum to the exact result: in double for float, in long double (64 bits) checked by
// twice the sum for double.
TEST(Lanes, ExactSumsAndProductsLoseNothing) {
  Random random(5);
  std::vector<float> x, y;
  for (int k = 0; k < 512; ++k) {
    x.push_back(static_cast<float>(
        std::ldexp(random.between(-8388607, 8388607), static_cast<int>(random.between(-12, 12)))));
    y.push_back(static_cast<float>(
        std::ldexp(random.between(-8388607, 8388607), static_cast<int>(random.between(-12, 12)))));
  }
  const auto parts = [&](const std::function<Pair(Floats, Floats)>& pair, bool high) {
    return evaluate<float>(
        [&](Floats a, Floats b) { return high ? pair(a, b).high : pair(a, b).low; }, x, y);
  };
  const auto ordered = [](Floats a, Floats b) {
    const Mask larger = fabs(a) >= fabs(b);
    return exact_sum_ordered(select(larger, a, b), select(larger, b, a));
  };
  for (const auto& [name, pair, product] :
       {std::tuple{"sum", std::function<Pair(Floats, Floats)>(exact_sum), false},
        std::tuple{"ordered sum", std::function<Pair(Floats, Floats)>(ordered), false},
        std::tuple{"product", std::function<Pair(Floats, Floats)>(exact_product), true}}) {
    const std::vector<float> high = parts(pair, true), low = parts(pair, false);
    for (size_t k = 0; k < x.size(); ++k) {
      const double a = x[k], b = y[k], exact = product ? a * b : a + b;
      ASSERT_EQ(static_cast<double>(high[k]) + static_cast<double>(low[k]), exact)
          << name << " of " << a << " and " << b;
      ASSERT_EQ(high[k], static_cast<float>(exact));
    }
  }
}

TEST(Lanes, PolynomialsRunByHornersRule) {
  constexpr std::array<double, 4> kCoefficients{1.5, -0.25, 3, 0.125};
  expect_same<double>(
      "polynomial", [&](Floats a, Floats) { return polynomial(a, kCoefficients); },
      [&](double x, double) {
        double value = kCoefficients[3];
        for (int k = 2; k >= 0; --k)
          value = target_has_fma() ? std::fma(value, x, kCoefficients[static_cast<size_t>(k)])
                                   : value * x + kCoefficients[static_cast<size_t>(k)];
        return value;
      });
  const std::array<double, 1> one{7};
  expect_same<float>(
      "constant", [&](Floats a, Floats) { return polynomial(a, one); },
      [](float, float) { return 7.0f; });
  EXPECT_THROW(evaluate<float>([](Floats a, Floats) { return polynomial(a, {}); }, {1}, {1}),
               Error);
}

TEST(Lanes, MultiplyAddIsOneInstructionOnlyWhereThereIsOne) {
  llvm::LLVMContext context;
  llvm::Module module("lanes", context);
  llvm::IRBuilder<> b(context);
  llvm::Type* type = llvm::FixedVectorType::get(b.getFloatTy(), 4);
  auto* function = llvm::Function::Create(llvm::FunctionType::get(type, {type, type, type}, false),
                                          llvm::GlobalValue::ExternalLinkage, "f", module);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "", function));
  for (const bool fma : {false, true}) {
    TargetFeatures features;
    features.fma = fma;
    const LaneContext lanes{b, features};
    const Floats x(lanes, function->getArg(0)), y(lanes, function->getArg(1));
    const Floats z(lanes, function->getArg(2));
    EXPECT_EQ(x.lanes(), 4u);
    EXPECT_FALSE(x.is_double());
    EXPECT_EQ(llvm::isa<llvm::CallInst>(multiply_add(x, y, z).value()), fma);
  }
}

// Values of which products cancel with sums: rounding twice shows in every other case.
template <class T>
std::vector<std::vector<T>> nearly_cancelling(int64_t count, int exponents) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> mantissa(-2, 2);
  std::uniform_int_distribution<int> exponent(-exponents, exponents);
  std::vector<std::vector<T>> x(3);
  for (int64_t k = 0; k < count; ++k) {
    const T a = static_cast<T>(std::ldexp(mantissa(random), exponent(random)));
    const T b = static_cast<T>(std::ldexp(mantissa(random), exponent(random)));
    const T c =
        k % 3 == 0
            ? static_cast<T>(std::ldexp(mantissa(random), exponent(random)))
            : static_cast<T>(-a * b * static_cast<T>(std::ldexp(1, static_cast<int>(k % 60) - 58)));
    x[0].push_back(a);
    x[1].push_back(b);
    x[2].push_back(c);
  }
  const T zero = 0, infinity = std::numeric_limits<T>::infinity();
  for (const auto& [a, b, c] : {std::array{zero, -T(1), -zero},
                                {zero, T(1), -zero},
                                {T(3), T(4), T(-12)},
                                {infinity, T(1), T(2)},
                                {T(1), T(2), infinity}}) {
    x[0].push_back(a);
    x[1].push_back(b);
    x[2].push_back(c);
  }
  while (x[0].size() % 8 != 0)
    for (std::vector<T>& one : x) one.push_back(T(1));
  return x;
}

template <class T, class Bits>
void expect_fused(int exponents) {
  const auto x = nearly_cancelling<T>(60000, exponents);
  for (const char* target : {"x86-64-v2", "x86-64-v3"}) {
    const CompiledFunction f(element_of<T>(), element_of<T>(), 3,
                             [](llvm::IRBuilder<>&, VectorMath& math, std::span<llvm::Value*> v) {
                               return math(emit::fused, v[0], v[1], v[2]);
                             },
                             {.lanes = 8, .target = target});
    std::vector<T> result(x[0].size());
    f(std::vector<const T*>{x[0].data(), x[1].data(), x[2].data()}, result.data(), result.size());
    for (size_t k = 0; k < result.size(); ++k)
      ASSERT_EQ(std::bit_cast<Bits>(result[k]),
                std::bit_cast<Bits>(std::fma(x[0][k], x[1][k], x[2][k])))
          << x[0][k] << " * " << x[1][k] << " + " << x[2][k] << " on " << target;
    EXPECT_EQ(f.assembly().find("call"), std::string::npos) << "a library call on " << target;
  }
}

TEST(Lanes, FusedRoundsOnceWithoutTheInstruction) {
  expect_fused<float, uint32_t>(60);  // subnormal results, too
  expect_fused<double, uint64_t>(200);
}

}  // namespace
}  // namespace adjit::testing
