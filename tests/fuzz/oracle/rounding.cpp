// tests/fuzz/oracle/rounding.cpp -- asks the wide interpreter.
#include "tests/fuzz/oracle/rounding.hpp"

#include <cmath>

#include "tests/fuzz/oracle/wide_interpreter.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

bool rounding_may_give(const Graph& graph, const std::vector<Array>& inputs, size_t output,
                       int64_t element, double value) {
  std::vector<WideArray> wide;
  for (const Array& array : inputs) wide.push_back(WideArray::of(array));
  const std::vector<WideArray> results = WideInterpreter().run(graph, wide);
  const Wide& exact = results[output].values[static_cast<size_t>(element)];
  if (!is_float(results[output].dtype))
    return !exact.sure() || value == static_cast<double>(exact.i);
  return !std::isfinite(exact.error) ||
         std::abs(static_cast<long double>(value) - exact.f) <= 4 * exact.error;
}

}  // namespace adjit::testing
