// runtime/trace/ops/reductions/softmax.cpp -- softmax, log_softmax, softmin.
#include "runtime/trace/ops/reductions/softmax.hpp"

#include <limits>

#include "runtime/trace/ops/call/operator_call.hpp"
#include "runtime/trace/ops/reductions/families.hpp"
#include "runtime/trace/ops/reductions/reduction.hpp"

namespace adjit::trace {
namespace {

// The largest element along an axis, kept with extent 1. An empty axis has no largest, and nobody
// asks for it.
TensorId largest(Trace& trace, TensorId x, size_t axis) {
  const TensorId operands[] = {x};
  return reduce_map(
      trace, "max", CombinerKind::Max, operands, {{axis}, true}, dtype_of(trace, x),
      [](std::span<const Formula> e) { return e[0]; }, Ties::Even, true);
}

}  // namespace

TensorId softmax(Trace& trace, TensorId x, size_t axis) {
  const TensorId m = largest(trace, x, axis);
  const TensorId e = map(trace, "exp", {x, m}, [](auto v) { return exp(v[0] - v[1]); });
  const TensorId total = sum(trace, e, {{axis}, true});
  return map(trace, "softmax", {e, total}, [](auto v) { return v[0] / v[1]; });
}

TensorId masked_softmax(Trace& trace, TensorId x, size_t axis) {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  const TensorId m = largest(trace, x, axis);
  // Where all elements are -inf nothing is taken out: -inf - -inf would be NaN.
  const TensorId e =
      map(trace, "exp", {x, m}, [](auto v) { return exp(v[0] - select(v[1] == kNever, 0, v[1])); });
  const TensorId total = sum(trace, e, {{axis}, true});
  // The divisor is 1 there, not 0: no derivative sees an infinity.
  return map(trace, "softmax", {e, total},
             [](auto v) { return v[0] / select(v[1] == 0, 1, v[1]); });
}

TensorId log_softmax(Trace& trace, TensorId x, size_t axis) {
  const TensorId m = largest(trace, x, axis);
  // A stage of its own, for the gradient to read.
  const TensorId e = map(trace, "exp", {x, m}, [](auto v) { return exp(v[0] - v[1]); });
  const TensorId total = sum(trace, e, {{axis}, true});
  return map(trace, "log_softmax", {x, m, total}, [](auto v) { return v[0] - v[1] - log(v[2]); });
}

namespace {

std::vector<TensorId> along_axis(OperatorCall& call, TensorId (*function)(Trace&, TensorId, size_t),
                                 bool negated) {
  Trace& trace = call.trace();
  require_float(trace, call.tensor(0), "x");
  if (call.rank(0) == 0) fail_shape(call, "softmax needs an axis");
  // torch's name is dim; axis is taken too.
  const size_t axis = axis_of(call, 0, -1, call.attributes().has("axis") ? "axis" : "dim");
  TensorId x = widened(trace, call.tensor(0));
  if (negated) x = map(trace, "negative", {x}, [](auto v) { return -v[0]; });
  return {astype(trace, function(trace, x, axis), dtype_of(trace, call.tensor(0)))};
}
std::vector<TensorId> softmax_operator(OperatorCall& call) {
  return along_axis(call, softmax, false);
}
std::vector<TensorId> log_softmax_operator(OperatorCall& call) {
  return along_axis(call, log_softmax, false);
}
std::vector<TensorId> softmin(OperatorCall& call) { return along_axis(call, softmax, true); }

constexpr std::string_view kSoftmaxShapes = "(..., N, ...) -> (..., N, ...)";
constexpr std::string_view kSoftmaxSignature = "(x, *, dim=-1, axis=None)";

const Operator kSoftmaxOperators[] = {
    {"nn.softmax", kSoftmaxSignature, kSoftmaxShapes, "y (g - sum(g y))", softmax_operator},
    {"nn.log_softmax", kSoftmaxSignature, kSoftmaxShapes, "g - exp(y) sum(g)",
     log_softmax_operator},
    {"nn.softmin", kSoftmaxSignature, kSoftmaxShapes, "-y (g - sum(g y))", softmin},
};

}  // namespace

std::span<const Operator> softmax_operators() { return kSoftmaxOperators; }

}  // namespace adjit::trace
