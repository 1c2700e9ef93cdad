// tests/runtime/trace/operator_examples.hpp -- one small call of every operator, for coverage and
// for gradient checks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/expr/dtype.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// Values are drawn evenly from [low, high].
struct ExampleInput {
  DType dtype = DType::Float64;
  std::vector<int64_t> shape;
  double low = -2, high = 2;
};

struct OperatorExample {
  std::string_view name;
  std::vector<ExampleInput> inputs;
  std::string_view attributes = "{}";  // JSON
  /// Whether the result is a smooth function of the float inputs at random points of these ranges:
  /// finite differences of orders 1 and 2 agree with the derivative.
  bool smooth = true;
};

/// Every operator at least once.
const std::vector<OperatorExample>& operator_examples();

}  // namespace adjit::testing
