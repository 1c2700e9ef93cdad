// tests/jit/emit/ir/control_test.cpp -- branches and loops, compiled.
#include "jit/emit/ir/control.hpp"

#include <gtest/gtest.h>

#include "tests/jit/emit/lane_formula.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using emit::elementary::either;
using emit::elementary::repeated;
using emit::elementary::Results;

TEST(Control, EitherGivesWhatOneOfTheTwoEmits) {
  const Formula formula = [](Floats x, Floats y) {
    const Results found = either(
        x < y, [&] { return Results{y - x, y}; },
        [&] {
          return either(x == y, [&] { return Results{x, x}; }, [&] { return Results{y, x}; });
        });
    return found[0] * 100 + found[1];
  };
  EXPECT_EQ(evaluate<double>(formula, {1, 3, 7}, {4, 3, 2}, {.lanes = 0}),
            (std::vector<double>{304, 303, 207}));
}

TEST(Control, RepeatedGoesOnWhileTheConditionHolds) {
  // Collatz's steps.
  const Formula formula = [](Floats x, Floats) {
    return repeated(
        {x, x.constant(0)}, [](const Results& v) { return v[0] > 1; },
        [](const Results& v) {
          const Floats half = v[0] * 0.5;
          const Mask even = half.intrinsic(llvm::Intrinsic::floor) == half;
          return Results{select(even, half, v[0] * 3 + 1), v[1] + 1};
        })[1];
  };
  EXPECT_EQ(evaluate<float>(formula, {1, 2, 3, 27}, {0, 0, 0, 0}, {.lanes = 0}),
            (std::vector<float>{0, 1, 7, 111}));
}

TEST(Control, AVectorGoesOnWhileAnyLaneDoes) {
  const Formula formula = [](Floats x, Floats) {
    return repeated(
        {x}, [](const Results& v) { return v[0] > 10; },
        [](const Results& v) { return Results{v[0] - 1}; })[0];
  };
  EXPECT_EQ(evaluate<float>(formula, {1, 12, 3, 15}, {0, 0, 0, 0}, {.lanes = 4}),
            (std::vector<float>{-4, 7, -2, 10}));
}

}  // namespace
}  // namespace adjit::testing
