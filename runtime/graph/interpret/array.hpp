// runtime/graph/interpret/array.hpp -- the interpreter's arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/expr/dtype.hpp"

namespace adjit::graph {

/// A dense row-major array owned by value.
struct Array {
  DType dtype = DType::Float32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;

  static Array zeros(DType dtype, std::vector<int64_t> shape);
  /// Values converted from double (row-major), rounded to the dtype.
  static Array of(DType dtype, std::vector<int64_t> shape, std::span<const double> values);
  int64_t element_count() const;
  double at(int64_t linear) const;  // any dtype, as double
  void set(int64_t linear, double value);
};

}  // namespace adjit::graph
