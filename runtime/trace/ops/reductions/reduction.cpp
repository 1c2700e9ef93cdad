// runtime/trace/ops/reductions/reduction.cpp -- reductions over axes.
#include "runtime/trace/ops/reductions/reduction.hpp"

#include <algorithm>
#include <string>

#include "runtime/trace/ops/call/operator_call.hpp"

namespace adjit::trace {
namespace {

bool goes(const Reduced& over, size_t axis) {
  return std::ranges::find(over.axes, axis) != over.axes.end();
}

Shape shape_after(const Shape& shape, const Reduced& over) {
  Shape result;
  for (size_t k = 0; k < shape.size(); ++k) {
    if (!goes(over, k)) result.push_back(shape[k]);
    if (goes(over, k) && over.keepdims) result.push_back(1);
  }
  return result;
}

}  // namespace

int64_t reduced_count(const Trace& trace, TensorId x, const Reduced& over) {
  Shape extents;
  for (size_t axis : over.axes) extents.push_back(shape_of(trace, x)[axis]);
  return element_count(extents);
}

TensorId reduce_map(Trace& trace, std::string_view name, CombinerKind kind,
                    std::span<const TensorId> operands, const Reduced& over, DType dtype,
                    const ElementFormula& formula, Ties ties, bool stop_gradient) {
  Shape shape;
  for (TensorId x : operands) shape = broadcast(shape, shape_of(trace, x));
  StageBuilder stage(trace, name, shape_after(shape, over));
  if (stop_gradient) stage.stop_gradient();
  std::vector<Formula> point;  // over the operands' dimensions
  for (size_t k = 0, kept = 0; k < shape.size(); ++k) {
    if (goes(over, k)) {
      point.push_back(stage.reduce(shape[k]));
      if (over.keepdims) ++kept;
    } else {
      point.push_back(stage.axis(kept++));
    }
  }
  std::vector<Formula> elements;
  for (TensorId x : operands) {
    const Shape& own = shape_of(trace, x);
    std::vector<Formula> index;
    for (size_t k = 0; k < own.size(); ++k)
      index.push_back(own[k] == 1 ? integer(stage, 0) : point[shape.size() - own.size() + k]);
    elements.push_back(stage.read(x, index));
  }
  const Formula body = formula(elements);
  if (over.axes.empty()) return stage.finish(body, dtype);
  return stage.finish(kind, body, dtype, ties);
}

TensorId reduce_map(Trace& trace, std::string_view name, CombinerKind kind, TensorId x,
                    const Reduced& over, DType dtype,
                    const std::function<Formula(Formula)>& formula, Ties ties) {
  return reduce_map(
      trace, name, kind, std::span<const TensorId>(&x, 1), over, dtype,
      [&](std::span<const Formula> e) { return formula(e[0]); }, ties);
}

DType sum_dtype(const OperatorCall& call) {
  const DType dtype = dtype_of(call.trace(), call.tensor(0));
  if (const std::optional<DType> asked = call.attributes().dtype("dtype")) return *asked;
  return is_float(dtype) ? dtype : DType::Int64;
}

TensorId sum(Trace& trace, TensorId x, const Reduced& over) {
  return reduce_map(trace, "sum", CombinerKind::Sum, x, over, dtype_of(trace, x),
                    [](Formula e) { return e; });
}

TensorId maximum_over(Trace& trace, TensorId x, const Reduced& over, bool stop_gradient) {
  if (!over.axes.empty() && reduced_count(trace, x, over) == 0)
    throw Error(ErrorCode::Shape, "the largest of no elements does not exist: the shape " +
                                      to_string(shape_of(trace, x)) + " has an empty reduced axis");
  return reduce_map(
      trace, "max", CombinerKind::Max, std::span<const TensorId>(&x, 1), over, dtype_of(trace, x),
      [](std::span<const Formula> e) { return e[0]; }, Ties::Even, stop_gradient);
}

TensorId mean(Trace& trace, TensorId x, const Reduced& over) {
  const double count = static_cast<double>(reduced_count(trace, x, over));
  const DType dtype = dtype_of(trace, x);
  const TensorId total = sum(trace, widened(trace, x), over);
  return astype(trace, map(trace, "mean", {total, count}, [](auto e) { return e[0] / e[1]; }),
                dtype);
}

TensorId variance(Trace& trace, TensorId x, TensorId mean, const Reduced& over, double correction) {
  const double count = static_cast<double>(reduced_count(trace, x, over));
  const TensorId operands[] = {x, mean};
  const TensorId squares =
      reduce_map(trace, "squares", CombinerKind::Sum, operands, over, dtype_of(trace, x),
                 [](std::span<const Formula> e) { return (e[0] - e[1]) * (e[0] - e[1]); });
  return map(trace, "var", {squares, std::max(count - correction, 0.0)},
             [](auto e) { return e[0] / e[1]; });
}

TensorId logsumexp(Trace& trace, TensorId x, const Reduced& over) {
  if (!over.axes.empty() && reduced_count(trace, x, over) == 0) {
    // The logarithm of an empty sum.
    const TensorId nothing = sum(trace, x, over);
    return map(trace, "logsumexp", {nothing}, [](auto e) { return log(e[0]); });
  }
  const TensorId largest = maximum_over(trace, x, {over.axes, true}, true);
  // Where the largest is infinite nothing is taken out: inf - inf would be NaN.
  const TensorId shift =
      map(trace, "shift", {largest}, [](auto e) { return select(is_inf(e[0]), 0, e[0]); });
  // A stage of its own, for the gradient to read.
  const TensorId exponentials =
      map(trace, "exp", {x, shift}, [](auto e) { return exp(e[0] - e[1]); });
  const TensorId total = sum(trace, exponentials, {over.axes, true});
  const TensorId result =
      map(trace, "logsumexp", {total, shift}, [](auto e) { return log(e[0]) + e[1]; });
  if (over.keepdims) return result;
  // Every reduced axis has extent 1: dropping it reads at 0.
  StageBuilder stage(trace, "logsumexp", shape_after(shape_of(trace, x), over));
  std::vector<Formula> index;
  for (size_t k = 0, kept = 0; k < rank_of(trace, x); ++k)
    index.push_back(goes(over, k) ? integer(stage, 0) : stage.axis(kept++));
  return stage.finish(stage.read(result, index));
}

}  // namespace adjit::trace
