// tests/jit/emit/ir/scalar_functions_test.cpp -- functions on one double, called for each lane.
#include "jit/emit/ir/scalar_functions.hpp"

#include <gtest/gtest.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include "jit/emit/ir/control.hpp"
#include "tests/jit/emit/lane_formula.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using emit::elementary::Arguments;
using emit::elementary::constant_table;
using emit::elementary::either;
using emit::elementary::in_each_lane;
using emit::elementary::Results;
using emit::elementary::ScalarFunction;

// Quotient and difference, which take the smaller of the two from the larger.
constexpr ScalarFunction kParts{"parts", 2, [](Arguments v) {
                                  return either(
                                      v[0] < v[1],
                                      [&] { return Results{v[0] / v[1], v[1] - v[0]}; },
                                      [&] { return Results{v[1] / v[0], v[0] - v[1]}; });
                                }};

template <class T>
std::vector<T> parts(unsigned lanes, size_t result) {
  return evaluate<T>(
      [=](Floats x, Floats y) {
        const Floats arguments[] = {x, y};
        const Floats twice = in_each_lane(kParts, arguments)[1] * 0;
        size_t functions = 0;
        const Results results = in_each_lane(kParts, arguments);
        for (const llvm::Function& f : *x.context().builder.GetInsertBlock()->getModule())
          functions += f.getName() == "adjit.parts";
        EXPECT_EQ(functions, 1u);
        return results[result] + twice;
      },
      {1, 5, 7, 2, 9, 1}, {4, 3, 2, 3, 1, 7}, {.lanes = lanes});
}

TEST(ScalarFunctions, AreCalledForEachLane) {
  for (unsigned lanes : {0u, 2u, 3u}) {
    EXPECT_EQ(parts<double>(lanes, 1), (std::vector<double>{3, 2, 5, 1, 8, 6}));
    EXPECT_EQ(parts<float>(lanes, 0),
              (std::vector<float>{1 / 4.0F, 3 / 5.0F, 2 / 7.0F, 2 / 3.0F, 1 / 9.0F, 1 / 7.0F}));
  }
}

TEST(ScalarFunctions, ReadTables) {
  static constexpr ScalarFunction kThird{
      "third", 1, [](Arguments v) {
        const LaneContext& context = v[0].context();
        llvm::IRBuilder<>& b = context.builder;
        const std::vector<double> numbers{3, 1, 4, 1, 5};
        const auto table = [&] {
          return constant_table(
              b, "digits", llvm::ConstantDataArray::get(b.getContext(), llvm::ArrayRef(numbers)));
        };
        EXPECT_EQ(table(), table());
        llvm::Value* index = b.CreateFPToSI(v[0].value(), b.getInt64Ty());
        llvm::Value* at = b.CreateInBoundsGEP(b.getDoubleTy(), table(), index);
        return Results{{context, b.CreateAlignedLoad(b.getDoubleTy(), at, llvm::Align(8))}};
      }};
  const Formula formula = [](Floats x, Floats) { return in_each_lane(kThird, {&x, 1})[0]; };
  EXPECT_EQ(evaluate<float>(formula, {4, 2, 0, 1}, {0, 0, 0, 0}, {.lanes = 2}),
            (std::vector<float>{5, 4, 3, 1}));
}

}  // namespace
}  // namespace adjit::testing
