// runtime/graph/interpreter.hpp -- the meaning of a graph: slow, obvious, the oracle of every test.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "runtime/graph/graph.hpp"

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

/// Runs a graph on arrays, one per input (dtypes and shapes must fit: ErrorCode::Shape / DType).
/// Reductions run in domain order, sums accumulate in the accumulator type (a product body by fma).
/// A data-dependent read out of range raises ErrorCode::Bounds naming the index. Scans and scatters
/// included; calls raise unless registered with `calls`.
std::vector<Array> interpret(const Graph& graph, std::span<const Array> inputs);

/// The same with every float32 operation done in float64 (inputs and results float64): for finite
/// differences.
std::vector<Array> interpret_in_double(const Graph& graph, std::span<const Array> inputs);

}  // namespace adjit::graph
