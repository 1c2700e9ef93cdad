// runtime/trace/ops/reductions/softmax.hpp -- softmax and log_softmax along one axis, as losses and
// attention use them.
#pragma once

#include "runtime/trace/trace.hpp"

namespace adjit::trace {

/// exp(x - m) / sum(exp(x - m)), where the largest m is a constant to the derivative. Float32 or
/// float64.
TensorId softmax(Trace& trace, TensorId x, size_t axis);
/// The same, and 0 where all elements are -inf (softmax has NaN there).
TensorId masked_softmax(Trace& trace, TensorId x, size_t axis);
/// x - m - log(sum(exp(x - m))).
TensorId log_softmax(Trace& trace, TensorId x, size_t axis);

}  // namespace adjit::trace
