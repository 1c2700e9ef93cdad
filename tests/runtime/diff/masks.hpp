// tests/runtime/diff/masks.hpp -- programs with masks of 0 and -inf, and what must not change.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/gradient_check.hpp"

namespace adjit::testing {

/// Whether two graphs of one signature give the same numbers, NaN where the other does, too.
inline ::testing::AssertionResult same_numbers(const Graph& a, const Graph& b) {
  verify(b);
  const std::vector<Array> inputs = random_inputs(a);
  const std::vector<Array> x = interpret(a, inputs), y = interpret(b, inputs);
  for (size_t k = 0; k < x.size(); ++k)
    for (int64_t e = 0; e < x[k].element_count(); ++e) {
      const double one = x[k].at(e), other = y[k].at(e);
      if (std::isnan(one) ? !std::isnan(other)
                          : one != other && !(std::abs(one - other) <= 1e-12 * (1 + std::abs(one))))
        return ::testing::AssertionFailure()
               << "output " << k << "[" << e << "]: " << one << " became " << other << "\n"
               << print(a) << print(b);
    }
  return ::testing::AssertionSuccess();
}

/// softmax of n x n scores, which are -inf where `mask` of (i, j) does not hold, times values.
inline Graph masked_attention(const std::string& mask, int64_t n = 12) {
  const std::string size = std::to_string(n);
  return parse_graph("def main(double(" + size + ", 4) q, double(" + size + ", 4) k, double(" +
                     size +
                     ", 3) v) -> (o) {\n"
                     "  s(i, j) +=! q(i, r) * k(j, r)\n"
                     "  m(i, j) = " +
                     mask +
                     " ? s(i, j) * 0.5 : -inf\n"
                     "  t(i) max=![stop_gradient] m(i, r)\n"
                     "  e(i, j) = exp(m(i, j) - t(i))\n"
                     "  z(i) +=! e(i, r)\n"
                     "  p(i, j) = e(i, j) / z(i)\n"
                     "  o(i, c) +=! p(i, r) * v(r, c)\n"
                     "}");
}

}  // namespace adjit::testing
