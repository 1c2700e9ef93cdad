// tests/runtime/trace/counted.hpp -- arrays that show where each element came from.
#pragma once

#include <gtest/gtest.h>

#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {

/// 0, 1, 2, ... in row-major order.
inline Array counting(std::vector<int64_t> shape) {
  Array result = Array::zeros(DType::Float64, std::move(shape));
  for (int64_t k = 0; k < result.element_count(); ++k) result.set(k, static_cast<double>(k));
  return result;
}

inline void expect(const Array& found, const std::vector<int64_t>& shape, const Values& wanted) {
  EXPECT_EQ(found.shape, shape);
  EXPECT_EQ(values(found), wanted);
}

}  // namespace adjit::testing
