// tests/runtime/graph/array_values.hpp -- an array's elements as a list.
#pragma once

#include <vector>

#include "runtime/graph/interpret/interpreter.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

inline std::vector<double> values(const Array& array) {
  std::vector<double> list;
  for (int64_t k = 0; k < array.element_count(); ++k) list.push_back(array.at(k));
  return list;
}

}  // namespace adjit::testing
