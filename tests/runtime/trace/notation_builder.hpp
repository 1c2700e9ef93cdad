// tests/runtime/trace/notation_builder.hpp -- index notation in short.
#pragma once

#include <gtest/gtest.h>

#include "runtime/trace/index_notation.hpp"
#include "runtime/trace/index_reduction.hpp"
#include "runtime/trace/lowering.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {

/// A trace with tensors by name, and the builder's operations in short.
struct NotationBuilder {
  Trace trace{"f"};
  IndexNotation n{trace};
  std::vector<Array> arrays;

  NotationBuilder() { trace.set_source("user.py", 5); }
  TensorId input(const Array& array) {
    arrays.push_back(array);
    return add_input(trace, "A", array.dtype, array.shape);
  }
  ScalarExpr at(TensorId tensor, std::initializer_list<ScalarExpr> index,
                IndexMode mode = IndexMode::Error) {
    return read(n, tensor, std::span(index.begin(), index.size()), mode);
  }
  ScalarExpr v(AxisHandle axis) { return axis_value(n, axis); }
  ScalarExpr lit(int64_t value) { return literal(n, WeakScalar::of(value)); }
  ScalarExpr lit(double value) { return literal(n, WeakScalar::of(value)); }
  ScalarExpr op(Op op, ScalarExpr a) { return apply(n, op, {a}); }
  ScalarExpr op(Op op, ScalarExpr a, ScalarExpr b) { return apply(n, op, {a, b}); }
  ScalarExpr sum(ScalarExpr body, std::initializer_list<AxisHandle> axes, ScalarExpr where = {}) {
    return reduce(n, CombinerKind::Sum, body, std::span(axes.begin(), axes.size()), where);
  }
  TensorId compute(std::initializer_list<AxisHandle> axes, ScalarExpr body) {
    return trace::compute(n, "C", std::span(axes.begin(), axes.size()), body);
  }
  Graph finish(TensorId result) {
    const TensorId outputs[] = {result};
    return trace.finish(outputs);
  }
  std::vector<double> run(TensorId result) { return values(interpret(finish(result), arrays)[0]); }
};

}  // namespace adjit::testing
