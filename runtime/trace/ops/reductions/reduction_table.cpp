// runtime/trace/ops/reductions/reduction_table.cpp -- the operators that reduce over axes.
#include <cmath>
#include <limits>

#include "runtime/trace/ops/call/operator_call.hpp"
#include "runtime/trace/ops/reductions/families.hpp"
#include "runtime/trace/ops/reductions/reduction.hpp"

namespace adjit::trace {
namespace {

Reduced reduced(const OperatorCall& call) {
  return {axes_of(call, 0), call.attributes().flag("keepdims", false)};
}

Formula identity(Formula x) { return x; }

std::vector<TensorId> fold(OperatorCall& call, CombinerKind kind) {
  const DType dtype = sum_dtype(call);
  return {reduce_map(call.trace(), call.name(), kind, call.tensor(0), reduced(call), dtype,
                     [&](Formula x) { return x.cast(accumulator_of(dtype)); })};
}
std::vector<TensorId> sum_operator(OperatorCall& call) { return fold(call, CombinerKind::Sum); }
std::vector<TensorId> prod(OperatorCall& call) { return fold(call, CombinerKind::Product); }

std::vector<TensorId> extreme(OperatorCall& call, CombinerKind kind) {
  Trace& trace = call.trace();
  const TensorId x = call.tensor(0);
  const Reduced over = reduced(call);
  if (!over.axes.empty() && reduced_count(trace, x, over) == 0)
    fail_shape(call, "the extreme of no elements does not exist: a reduced axis is empty");
  return {reduce_map(trace, call.name(), kind, x, over, dtype_of(trace, x), identity)};
}
std::vector<TensorId> max(OperatorCall& call) { return extreme(call, CombinerKind::Max); }
std::vector<TensorId> min(OperatorCall& call) { return extreme(call, CombinerKind::Min); }

std::vector<TensorId> truth(OperatorCall& call, CombinerKind kind) {
  return {reduce_map(call.trace(), call.name(), kind, call.tensor(0), reduced(call), DType::Bool,
                     [](Formula x) { return x.dtype() == DType::Bool ? x : x != 0; })};
}
std::vector<TensorId> any(OperatorCall& call) { return truth(call, CombinerKind::Any); }
std::vector<TensorId> all(OperatorCall& call) { return truth(call, CombinerKind::All); }

std::vector<TensorId> count_nonzero(OperatorCall& call) {
  return {reduce_map(
      call.trace(), call.name(), CombinerKind::Sum, call.tensor(0), reduced(call), DType::Int64,
      [](Formula x) { return (x.dtype() == DType::Bool ? x : x != 0).cast(DType::Int64); })};
}

// One axis, or the flattened tensor for axis=None.
std::vector<TensorId> arg_extreme(OperatorCall& call, CombinerKind kind) {
  Trace& trace = call.trace();
  const TensorId x = call.tensor(0);
  const Shape shape = shape_of(trace, x);
  const bool keepdims = call.attributes().flag("keepdims", false);
  std::vector<size_t> axes = all_axes(shape.size());
  if (call.attributes().has("axis")) axes = {axis_of(call, 0, 0)};
  if (axes.empty() || reduced_count(trace, x, {axes, false}) == 0)
    fail_shape(call, "the position of an extreme needs at least one element and one axis");
  Shape kept;
  for (size_t k = 0; k < shape.size(); ++k) {
    const bool goes = axes.size() == shape.size() || k == axes[0];
    if (!goes || keepdims) kept.push_back(goes ? 1 : shape[k]);
  }
  StageBuilder stage(trace, call.name(), kept);
  std::vector<Formula> index;
  Formula position = integer(stage, 0);
  for (size_t k = 0, next = 0; k < shape.size(); ++k) {
    if (axes.size() == shape.size() || k == axes[0]) {
      index.push_back(stage.reduce(shape[k]));
      position = position * shape[k] + index.back();
      if (keepdims) ++next;
    } else {
      index.push_back(stage.axis(next++));
    }
  }
  const Formula bodies[] = {stage.read(x, index), position};
  return {stage.finish({kind, Ties::First, {}, {}}, bodies)[1]};
}
std::vector<TensorId> argmax(OperatorCall& call) { return arg_extreme(call, CombinerKind::ArgMax); }
std::vector<TensorId> argmin(OperatorCall& call) { return arg_extreme(call, CombinerKind::ArgMin); }

// What statistics are taken of, and their type: of integers and bools a weak float.
OperandType sample_type(const OperatorCall& call) {
  return float_of(type_of(call.trace(), call.tensor(0)));
}

TensorId statistic(OperatorCall& call, TensorId value) {
  const OperandType type = sample_type(call);
  const TensorId result = astype(call.trace(), value, type.dtype);
  if (type.weak) call.trace().set_weak(result);
  return result;
}

std::vector<TensorId> mean_operator(OperatorCall& call) {
  const TensorId x = astype(call.trace(), call.tensor(0), sample_type(call).dtype);
  return {statistic(call, mean(call.trace(), x, reduced(call)))};
}

TensorId variance_of(OperatorCall& call) {
  Trace& trace = call.trace();
  const TensorId x = widened(trace, astype(trace, call.tensor(0), sample_type(call).dtype));
  const Reduced over = reduced(call);
  return variance(trace, x, mean(trace, x, {over.axes, true}), over,
                  call.attributes().real("correction", 0));
}
std::vector<TensorId> var(OperatorCall& call) { return {statistic(call, variance_of(call))}; }
std::vector<TensorId> std_operator(OperatorCall& call) {
  // Flat where all elements are equal, as a norm where all are 0.
  const TensorId y = map(call.trace(), "std", {variance_of(call)},
                         [](auto e) { return select(e[0] == 0, 0, sqrt(e[0])); });
  return {statistic(call, y)};
}

std::vector<TensorId> logsumexp_operator(OperatorCall& call) {
  Trace& trace = call.trace();
  require_float(trace, call.tensor(0), "x");
  const TensorId y = logsumexp(trace, widened(trace, call.tensor(0)), reduced(call));
  return {astype(trace, y, dtype_of(trace, call.tensor(0)))};
}

std::vector<TensorId> vector_norm(OperatorCall& call) {
  Trace& trace = call.trace();
  require_float(trace, call.tensor(0), "x");
  const TensorId x = widened(trace, call.tensor(0));
  const DType held = dtype_of(trace, x), dtype = dtype_of(trace, call.tensor(0));
  const double order = call.attributes().real("ord", 2);
  const Reduced over = reduced(call);
  if (std::isinf(order))
    return {reduce_map(trace, call.name(), order > 0 ? CombinerKind::Max : CombinerKind::Min, x,
                       over, dtype, [](Formula e) { return abs(e); })};
  if (order == 0)
    return {reduce_map(trace, call.name(), CombinerKind::Sum, x, over, dtype,
                       [&](Formula e) { return (e != 0).cast(held); })};
  const TensorId total =
      reduce_map(trace, call.name(), CombinerKind::Sum, x, over, held, [&](Formula e) {
        return order == 2 ? e * e : order == 1 ? abs(e) : power(abs(e), order);
      });
  if (order == 1) return {astype(trace, total, dtype)};
  // Flat where all elements are 0, as torch's.
  const TensorId root = map(trace, call.name(), {total}, [&](auto e) {
    return select(e[0] == 0, 0, order == 2 ? sqrt(e[0]) : power(e[0], 1 / order));
  });
  return {astype(trace, root, dtype)};
}

constexpr std::string_view kReductionShapes = "(...) -> the axes removed, or 1 with keepdims";
constexpr std::string_view kReductionSignature = "(x, *, axis=None, keepdims=False)";
constexpr std::string_view kSumSignature = "(x, *, axis=None, dtype=None, keepdims=False)";

const Operator kReductionOperators[] = {
    {"sum", kSumSignature, kReductionShapes, "g broadcast", sum_operator},
    {"prod", kSumSignature, kReductionShapes, "g times the product of the others", prod},
    {"max", kReductionSignature, kReductionShapes, "g shared evenly among the largest", max},
    {"min", kReductionSignature, kReductionShapes, "g shared evenly among the smallest", min},
    {"mean", kReductionSignature, kReductionShapes, "g / count", mean_operator},
    {"var", "(x, *, axis=None, correction=0.0, keepdims=False)", kReductionShapes,
     "2 g (x - mean) / (count - correction)", var},
    {"std", "(x, *, axis=None, correction=0.0, keepdims=False)", kReductionShapes,
     "g (x - mean) / (std (count - correction)), 0 where all are equal", std_operator},
    {"any", kReductionSignature, kReductionShapes, kNotAFloat, any},
    {"all", kReductionSignature, kReductionShapes, kNotAFloat, all},
    {"count_nonzero", kReductionSignature, kReductionShapes, kNotAFloat, count_nonzero},
    {"argmax", kReductionSignature, kReductionShapes, kNotAFloat, argmax},
    {"argmin", kReductionSignature, kReductionShapes, kNotAFloat, argmin},
    {"logsumexp", kReductionSignature, kReductionShapes, "g softmax(x)", logsumexp_operator},
    {"linalg.vector_norm", "(x, *, axis=None, keepdims=False, ord=2)", kReductionShapes,
     "g x / norm for ord 2", vector_norm},
};

}  // namespace

std::span<const Operator> reduction_operators() { return kReductionOperators; }

}  // namespace adjit::trace
