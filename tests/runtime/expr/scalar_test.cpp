#include "runtime/expr/scalar.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace adjit::expr {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

double real(Op op, DType t, std::vector<double> values) {
  std::vector<Scalar> v;
  for (double x : values) v.push_back(Scalar::of_float(x));
  return apply(op, t, t, v).f;
}
int64_t whole(Op op, DType t, std::vector<int64_t> values) {
  std::vector<Scalar> v;
  for (int64_t x : values) v.push_back(Scalar::of_int(x));
  return apply(op, t, t, v).i;
}
Scalar cast(DType from, DType to, Scalar v) { return apply(Op::Cast, from, to, std::span(&v, 1)); }

TEST(Scalar, IntegersWrapToTheirWidth) {
  EXPECT_EQ(whole(Op::Add, DType::Int8, {127, 1}), -128);
  EXPECT_EQ(whole(Op::Mul, DType::UInt8, {16, 16}), 0);
  EXPECT_EQ(whole(Op::Sub, DType::UInt8, {0, 1}), 255);
  EXPECT_EQ(whole(Op::Neg, DType::Int64, {INT64_MIN}), INT64_MIN);
  EXPECT_EQ(whole(Op::Abs, DType::Int32, {INT32_MIN}), INT32_MIN);
  EXPECT_EQ(whole(Op::Fma, DType::Int16, {300, 300, 1}), static_cast<int16_t>(90001));
  EXPECT_EQ(whole(Op::BitNot, DType::UInt8, {1}), 254);
}

TEST(Scalar, IntegerDivisionNeverTraps) {
  for (Op op : {Op::FloorDiv, Op::Mod, Op::Fmod}) EXPECT_EQ(whole(op, DType::Int32, {7, 0}), 0);
  EXPECT_EQ(whole(Op::FloorDiv, DType::Int64, {INT64_MIN, -1}), INT64_MIN);
  EXPECT_EQ(whole(Op::Mod, DType::Int64, {INT64_MIN, -1}), 0);
  EXPECT_EQ(whole(Op::FloorDiv, DType::Int32, {-7, 2}), -4);
  EXPECT_EQ(whole(Op::Mod, DType::Int32, {-7, 2}), 1);
  EXPECT_EQ(whole(Op::Fmod, DType::Int32, {-7, 2}), -1);
}

TEST(Scalar, ShiftsByTooMuch) {
  EXPECT_EQ(whole(Op::ShiftLeft, DType::Int32, {1, 32}), 0);
  EXPECT_EQ(whole(Op::ShiftLeft, DType::Int32, {1, -1}), 0);
  EXPECT_EQ(whole(Op::ShiftLeft, DType::Int32, {1, 31}), INT32_MIN);
  EXPECT_EQ(whole(Op::ShiftRight, DType::Int32, {-8, 40}), -1);
  EXPECT_EQ(whole(Op::ShiftRight, DType::Int32, {8, 40}), 0);
  EXPECT_EQ(whole(Op::ShiftRight, DType::Int32, {-8, 1}), -4);
}

TEST(Scalar, IntegerPowers) {
  EXPECT_EQ(whole(Op::Pow, DType::Int64, {3, 4}), 81);
  EXPECT_EQ(whole(Op::Pow, DType::Int64, {2, -1}), 0);
  EXPECT_EQ(whole(Op::Pow, DType::Int64, {1, -5}), 1);
  EXPECT_EQ(whole(Op::Pow, DType::Int64, {-1, -5}), -1);
  EXPECT_EQ(whole(Op::Pow, DType::Int64, {-1, -4}), 1);
  EXPECT_EQ(whole(Op::Pow, DType::Int64, {0, 0}), 1);
}

TEST(Scalar, MinAndMaxPropagateNan) {
  for (Op op : {Op::Min, Op::Max}) {
    EXPECT_TRUE(std::isnan(real(op, DType::Float64, {kNan, 1})));
    EXPECT_TRUE(std::isnan(real(op, DType::Float32, {1, kNan})));
  }
  EXPECT_EQ(real(Op::Max, DType::Float32, {-kInf, 2}), 2);
}

TEST(Scalar, SignsAndRounding) {
  EXPECT_EQ(real(Op::Sign, DType::Float32, {-3}), -1);
  EXPECT_EQ(real(Op::Sign, DType::Float32, {0}), 0);
  EXPECT_TRUE(std::isnan(real(Op::Sign, DType::Float32, {kNan})));
  EXPECT_EQ(real(Op::Round, DType::Float64, {2.5}), 2);
  EXPECT_EQ(real(Op::Round, DType::Float64, {3.5}), 4);
  EXPECT_EQ(real(Op::Mod, DType::Float64, {-1, 3}), 2);
  EXPECT_EQ(real(Op::Fmod, DType::Float64, {-1, 3}), -1);
  EXPECT_EQ(real(Op::FloorDiv, DType::Float64, {-7, 2}), -4);
}

TEST(Scalar, Float32IsComputedInFloat) {
  const double third = static_cast<double>(1.0f / 3.0f);
  EXPECT_EQ(real(Op::Div, DType::Float32, {1, 3}), third);
  const float a = 1.0f + 0x1p-12f;
  EXPECT_EQ(real(Op::Fma, DType::Float32, {static_cast<double>(a), static_cast<double>(a), -1.0}),
            static_cast<double>(std::fma(a, a, -1.0f)));
}

TEST(Scalar, SpecialFunctions) {
  EXPECT_NEAR(real(Op::Digamma, DType::Float64, {1}), -0.57721566490153286, 1e-14);
  EXPECT_NEAR(real(Op::Digamma, DType::Float64, {-0.5}), 0.03648997397857652, 1e-13);
  for (double y : {-0.999, -0.5, -1e-9, 0.0, 0.3, 0.9999999})
    EXPECT_NEAR(std::erf(real(Op::Erfinv, DType::Float64, {y})), y, 1e-15) << y;
  EXPECT_EQ(real(Op::Erfinv, DType::Float64, {1}), kInf);
  EXPECT_TRUE(std::isnan(real(Op::Erfinv, DType::Float64, {1.5})));
  EXPECT_EQ(real(Op::Sigmoid, DType::Float32, {-200}), 0);
  EXPECT_EQ(real(Op::Sigmoid, DType::Float64, {0}), 0.5);
  EXPECT_EQ(real(Op::Sqrt, DType::Float64, {0}), 0);
}

TEST(Scalar, CastsSaturateAndRound) {
  EXPECT_EQ(cast(DType::Float32, DType::Int8, Scalar::of_float(300)).i, 127);
  EXPECT_EQ(cast(DType::Float32, DType::Int8, Scalar::of_float(-300)).i, -128);
  EXPECT_EQ(cast(DType::Float64, DType::UInt8, Scalar::of_float(-1)).i, 0);
  EXPECT_EQ(cast(DType::Float64, DType::Int64, Scalar::of_float(kInf)).i, INT64_MAX);
  EXPECT_EQ(cast(DType::Float64, DType::Int64, Scalar::of_float(-kInf)).i, INT64_MIN);
  EXPECT_EQ(cast(DType::Float64, DType::Int32, Scalar::of_float(kNan)).i, 0);
  EXPECT_EQ(cast(DType::Float64, DType::Int32, Scalar::of_float(-2.9)).i, -2);
  EXPECT_EQ(cast(DType::Float64, DType::Bool, Scalar::of_float(kNan)).i, 1);
  EXPECT_EQ(cast(DType::Int32, DType::Int8, Scalar::of_int(384)).i, -128);
  EXPECT_EQ(cast(DType::Int64, DType::Bool, Scalar::of_int(-3)).i, 1);
  EXPECT_EQ(cast(DType::Float64, DType::Float16, Scalar::of_float(65520)).f, kInf);
}

TEST(Scalar, RoundingToHalves) {
  EXPECT_EQ(round_to(1.0 + 0x1p-11, DType::Float16), 1.0);           // half to even
  EXPECT_EQ(round_to(1.0 + 0x3p-11, DType::Float16), 1.0 + 0x1p-9);  // half to even
  EXPECT_EQ(round_to(1.0 + 0x1p-8, DType::BFloat16), 1.0);
  EXPECT_EQ(round_to(1.0 + 0x3p-8, DType::BFloat16), 1.0 + 0x1p-6);
  // Above a tie by less than float can see: rounded once, this goes up.
  EXPECT_EQ(round_to(1.0 + 0x1p-8 + 0x1p-40, DType::BFloat16), 1.0 + 0x1p-7);
  EXPECT_EQ(round_to(1.0 + 0x1p-8 - 0x1p-40, DType::BFloat16), 1.0);
  EXPECT_EQ(round_to(-(1.0 + 0x3p-8 - 0x1p-40), DType::BFloat16), -(1.0 + 0x1p-7));
  EXPECT_TRUE(std::isnan(round_to(kNan, DType::BFloat16)));
  EXPECT_EQ(round_to(kInf, DType::BFloat16), kInf);
  EXPECT_EQ(round_to(3.4e38, DType::BFloat16), kInf);
  EXPECT_EQ(round_to(1e300, DType::BFloat16), kInf);
}

TEST(Scalar, ElementsReadBackInEveryDType) {
  for (int k = 0; k < kDTypeCount; ++k) {
    const DType t = static_cast<DType>(k);
    std::array<std::byte, 8> memory{};
    store_element(memory.data(), t, is_float(t) ? Scalar::of_float(1) : Scalar::of_int(1));
    const Scalar back = load_element(memory.data(), t);
    EXPECT_EQ(is_float(t) ? back.f : static_cast<double>(back.i), 1) << name_of(t);
  }
}

TEST(Scalar, SelectTakesOneOperand) {
  const Scalar v[] = {Scalar::of_int(0), Scalar::of_float(kNan), Scalar::of_float(2)};
  EXPECT_EQ(apply(Op::Select, DType::Float32, DType::Float32, v).f, 2);
}

}  // namespace
}  // namespace adjit::expr
