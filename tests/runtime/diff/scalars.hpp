// tests/runtime/diff/scalars.hpp -- expressions of scalar inputs, and what they evaluate to.
#pragma once

#include <span>
#include <vector>

#include "runtime/graph/graph.hpp"
#include "runtime/graph/interpret/interpreter.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// A graph whose inputs are scalars of float64; x[k] reads input k.
struct Scalars {
  Graph graph;
  std::vector<ExprId> x;

  explicit Scalars(size_t count) {
    for (size_t k = 0; k < count; ++k)
      x.push_back(read(graph, add_input(graph, "x", DType::Float64, {}), {}));
  }
  ExprPool& pool() { return graph.pool; }
  ExprId number(double value) { return graph.pool.constant(value, DType::Float64); }

  /// The expression where the inputs have these values.
  double at(ExprId expr, const std::vector<double>& values) const {
    Graph whole = graph;
    whole.outputs = add_compute(whole, "value", Domain{}, Combiner{}, {expr});
    std::vector<Array> inputs;
    for (const double value : values)
      inputs.push_back(Array::of(DType::Float64, {}, std::span(&value, 1)));
    return interpret(whole, inputs)[0].at(0);
  }
};

}  // namespace adjit::testing
