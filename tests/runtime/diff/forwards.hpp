// tests/runtime/diff/forwards.hpp -- small forwards for the tests, written with operators.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/graph/graph.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// An expression of one graph's pool, with operators. Comparisons and `//`, `%` are named
/// functions.
struct Ex {
  ExprPool* pool;
  ExprId id;
};
Ex operator+(Ex a, Ex b);
Ex operator-(Ex a, Ex b);
Ex operator*(Ex a, Ex b);
Ex operator/(Ex a, Ex b);
Ex operator-(Ex a);
Ex operator+(Ex a, double b);
Ex operator-(Ex a, double b);
Ex operator*(Ex a, double b);
Ex operator/(Ex a, double b);
Ex call(Op op, Ex a);
Ex call(Op op, Ex a, Ex b);
Ex floor_div(Ex a, int64_t b);
Ex mod(Ex a, int64_t b);
Ex select(Ex condition, Ex a, Ex b);
Ex less(Ex a, Ex b);
Ex both(Ex a, Ex b);
/// A constant of like's dtype.
Ex number(Ex like, double value);

using Axes = std::vector<Ex>;
using Body = std::function<Ex(const Axes&)>;
using Shape = std::vector<int64_t>;

/// Builds one graph.
class Forward {
 public:
  Graph graph;

  TensorId input(const std::string& name, Shape shape, DType dtype = DType::Float64);
  Ex at(TensorId tensor, const Axes& index);
  /// Guarded: 0 where the predicate is false.
  Ex at(TensorId tensor, const Axes& index, Ex predicate);
  /// result[i] = body(i).
  TensorId map(const std::string& name, Shape shape, const Body& body);
  /// result[i] = combine over r of body(i, r).
  TensorId reduce(CombinerKind kind, const std::string& name, Shape shape, Shape over,
                  const Body& body, Ties ties = Ties::Even);
  TensorId sum(const std::string& name, Shape shape, Shape over, const Body& body);
  /// Like map and reduce, with rows: each body of `rows` is an affine int64 expression >= 0.
  TensorId reduce_where(CombinerKind kind, const std::string& name, Shape shape, Shape over,
                        const Body& body, const std::vector<Body>& rows);
  Graph returning(std::vector<TensorId> outputs);

 private:
  Axes make_axes(size_t count);
};

}  // namespace adjit::testing
