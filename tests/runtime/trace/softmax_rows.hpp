// tests/runtime/trace/softmax_rows.hpp -- a softmax by its definition.
#pragma once

#include <cmath>

#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {

/// Of rows of n elements.
inline Values softmax_rows(const Values& x, size_t n) {
  Values y(x.size());
  for (size_t row = 0; row < x.size(); row += n) {
    double total = 0;
    for (size_t k = 0; k < n; ++k) total += std::exp(x[row + k]);
    for (size_t k = 0; k < n; ++k) y[row + k] = std::exp(x[row + k]) / total;
  }
  return y;
}

}  // namespace adjit::testing
