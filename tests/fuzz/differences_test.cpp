// tests/fuzz/differences_test.cpp
#include "tests/fuzz/differences.hpp"
#include "tests/rooms.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace adjit::testing {
namespace {

// 1e-7 of the derivative, and a little: what a check of programs asks for.
Verdict judged(Differences::Function f, long double derived) {
  return Differences(std::move(f)).judge(derived, 1e-7L * std::abs(derived) + 1e-9L);
}

TEST(Differences, OfSmoothFunctions) {
  EXPECT_EQ(judged([](long double t) { return std::sin(1 + t); }, std::cos(1.0L)), Verdict::Agrees);
  EXPECT_EQ(judged([](long double t) { return std::sin(1 + t); }, std::cos(1.0L) * 1.00001L),
            Verdict::Differs);
  EXPECT_EQ(judged([](long double) { return 3; }, 1e-8L), Verdict::Differs);
}

// Where the usual step is no small one: a function that turns within 1e-5 of where it is asked.
TEST(Differences, OfFunctionsThatTurnWithinAStep) {
  const auto f = [](long double t) { return std::sin(1e5L * t + 1); };
  const long double derivative = 1e5L * std::cos(1.0L);
  EXPECT_EQ(judged(f, derivative), Verdict::Agrees);
  EXPECT_EQ(judged(f, derivative * 1.0001L), Verdict::Differs);
  EXPECT_GT(std::abs((f(0x1p-20L) - f(-0x1p-20L)) / 0x1p-19L - derivative), 1e-7L * derivative);
}

// Where a small step leaves too few digits: what cancels is far greater than the difference.
TEST(Differences, OfSmallPartsOfLargeNumbers) {
  const auto f = [](long double t) { return 1e9L + std::sin(1 + t) - 1e9L; };
  EXPECT_EQ(judged(f, std::cos(1.0L)), Verdict::Agrees);
  EXPECT_EQ(judged(f, std::cos(1.0L) * 1.001L), Verdict::Differs);
}

// Multiples of 2^-33, as the sum of a small number and a large one is: over most steps differences
// are the same, and wrong. A bound on the rounding says so.
TEST(Differences, OfFunctionsInSteps) {
  const auto steps = [](long double rounding) {
    return [=](long double t) -> std::optional<Sample> {
      const long double exact = 1e-3L * t, least = 0x1p-33L;
      return Sample{std::round(exact / least) * least, rounding};
    };
  };
  EXPECT_EQ(judged(steps(0), 1e-3L), Verdict::Differs) << "what it would be without the bound";
  EXPECT_NE(judged(steps(0x1p-33L), 1e-3L), Verdict::Differs);
}

TEST(Differences, SayNothingWhereTheyDoNotSettle) {
  const auto noise = [](long double t) {
    return std::fmod(std::abs(std::sin(1 + 1e9L * t) * 1e9L), 1.0L);
  };
  EXPECT_EQ(judged(noise, 1), Verdict::Unsettled);
  EXPECT_EQ(judged([](long double) { return std::nanl(""); }, 1), Verdict::Unsettled);
}

TEST(Differences, SayNothingAtKinks) {
  const auto piece = [](long double t) -> std::optional<long double> {
    return t < 0 ? std::nullopt : std::optional(t);
  };
  EXPECT_EQ(judged(piece, 0.5L), Verdict::Kink);
  // Beside one, the finer steps are on one side.
  const auto beside = [](long double t) -> std::optional<long double> {
    return t > 1e-7L ? std::nullopt : std::optional(std::exp(t));
  };
  EXPECT_EQ(judged(beside, 1), Verdict::Agrees);
  EXPECT_EQ(judged(beside, 1.0001L), Verdict::Differs);
}

}  // namespace
}  // namespace adjit::testing
