// runtime/trace/ops/reductions/reduction.hpp -- reductions over axes, as functions that composite
// operators use too.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "runtime/trace/ops/stages/elementwise.hpp"

namespace adjit::trace {

class OperatorCall;

/// Which axes go, and whether they stay with extent 1.
struct Reduced {
  std::vector<size_t> axes;
  bool keepdims = false;
};

/// The formula of one operand, reduced: sum(f(x)) is one stage. Half types are summed in float32;
/// the result has dtype `dtype`.
TensorId reduce_map(Trace& trace, std::string_view name, CombinerKind kind, TensorId x,
                    const Reduced& over, DType dtype,
                    const std::function<Formula(Formula)>& formula, Ties ties = Ties::Even);
/// As above, of several operands that have x's shape or broadcast to it.
TensorId reduce_map(Trace& trace, std::string_view name, CombinerKind kind,
                    std::span<const TensorId> operands, const Reduced& over, DType dtype,
                    const ElementFormula& formula, Ties ties = Ties::Even,
                    bool stop_gradient = false);

TensorId sum(Trace& trace, TensorId x, const Reduced& over);
/// What sums and products of operand 0 are taken in: the dtype asked for, else that of floats, and
/// int64 for bools and integers of any width, so that narrow ones do not wrap.
DType sum_dtype(const OperatorCall& call);
/// ErrorCode::Shape over an empty axis.
TensorId maximum_over(Trace& trace, TensorId x, const Reduced& over, bool stop_gradient = false);
TensorId mean(Trace& trace, TensorId x, const Reduced& over);
/// The mean of the squared distance to `mean` (of keepdims shape), divided by count - correction.
TensorId variance(Trace& trace, TensorId x, TensorId mean, const Reduced& over, double correction);
/// log(sum(exp(x))), stable: the largest element is taken out first.
TensorId logsumexp(Trace& trace, TensorId x, const Reduced& over);

/// How many elements one result folds.
int64_t reduced_count(const Trace& trace, TensorId x, const Reduced& over);

}  // namespace adjit::trace
