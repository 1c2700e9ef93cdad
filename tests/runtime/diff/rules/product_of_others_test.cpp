// tests/runtime/diff/rules/product_of_others_test.cpp -- gradients of products of zeros, of
// infinities, and of numbers whose product leaves their range.
#include "runtime/diff/rules/product_of_others.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/diff/reverse/reverse.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/forwards.hpp"
#include "tests/runtime/diff/gradient_check.hpp"

namespace adjit::testing {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

struct ProductCase {
  DType dtype;
  std::vector<double> factors, gradient;
};

class ProductOfOthers : public ::testing::TestWithParam<ProductCase> {};

void expect_factor_slope(double got, double wanted) {
  if (std::isnan(wanted)) {
    EXPECT_TRUE(std::isnan(got)) << got;
  } else if (std::isinf(wanted) || wanted == 0) {
    EXPECT_EQ(got, wanted);
  } else {
    EXPECT_NEAR(got / wanted, 1, 1e-6);
  }
}

TEST_P(ProductOfOthers, IsTheGradient) {
  const ProductCase& c = GetParam();
  const auto count = static_cast<int64_t>(c.factors.size());
  Forward f;
  const TensorId x = f.input("x", {count}, c.dtype);
  const Graph forward = f.returning({f.reduce(CombinerKind::Product, "y", {}, {count},
                                              [&](const Axes& i) { return f.at(x, i); })});
  const Array in = Array::of(c.dtype, {count}, c.factors);
  const std::vector<Array> reverse =
      interpret(gradient(forward, std::vector<size_t>{0}, 0, false), std::vector{in});
  for (int64_t k = 0; k < count; ++k) {
    SCOPED_TRACE(k);
    const auto n = static_cast<size_t>(k);
    expect_factor_slope(reverse[0].at(k), c.gradient[n]);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, ProductOfOthers,
    ::testing::Values(
        ProductCase{DType::Float32, {2, 3, 4}, {12, 8, 6}},
        ProductCase{DType::Float32, {0, 3, 4}, {12, 0, 0}},
        ProductCase{DType::Float32, {0, 3, 0}, {0, 0, 0}},
        ProductCase{DType::Float32, {1e20, 1e20, 1e-30}, {1e-10, 1e-10, kInfinite}},
        ProductCase{DType::Float32, {1e-30, 1e-20, 1e30}, {1e10, 1, 0}},
        ProductCase{
            DType::Float32, {1e20, 1e20, 1e20, 1e-30, 1e-30}, {1e-20, 1e-20, 1e-20, 1e30, 1e30}},
        ProductCase{DType::Float32, {0, 1e30, 1e30, 1e-30}, {1e30, 0, 0, 0}},
        ProductCase{DType::BFloat16, {0x1p100, 0x1p100, 0x1p-120}, {0x1p-20, 0x1p-20, kInfinite}},
        ProductCase{DType::Float16, {0x1p12, 0x1p12, 0x1p-14}, {0x1p-2, 0x1p-2, kInfinite}},
        ProductCase{DType::Float64, {kInfinite, 2, 3}, {6, kInfinite, kInfinite}},
        ProductCase{DType::Float64, {kInfinite, -2, 3}, {-6, kInfinite, -kInfinite}},
        ProductCase{DType::Float64, {kInfinite, 0, 3}, {0, kInfinite, kNoNumber}},
        ProductCase{
            DType::Float64, {kInfinite, -kInfinite, 2}, {-kInfinite, kInfinite, -kInfinite}},
        ProductCase{DType::Float64, {kInfinite, 0, 0}, {0, kNoNumber, kNoNumber}}));

}  // namespace
}  // namespace adjit::testing
