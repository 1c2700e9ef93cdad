// tests/jit/emit/image_windows.hpp -- sums over windows of an image with zeros around it.
#pragma once

#include <string>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// y(c, i, j) combines x(c, i + r_a - 1, j + r_b - 1) w(r_a, r_b) of a 3 x 3 window, three images
/// of 24 x 32; more conditions begin with ", ".
inline Graph image_windows(const std::string& how = "+", const std::string& constraints = "") {
  return parse_graph(
      "def main(float(3, 24, 32) x, float(3, 3) w) -> (y) { y(c, i, j) " + how +
      "=! x(c, i + r_a - 1, j + r_b - 1) * w(r_a, r_b) where c in 0:3, i in 0:24, j "
      "in 0:32, r_a in 0:3, r_b in 0:3, i + r_a >= 1, i + r_a <= 24, j + r_b >= 1, j "
      "+ r_b <= 32" +
      constraints + " }");
}

}  // namespace adjit::testing
