// runtime/trace/ops/network/loss.hpp -- how losses are folded into one.
#pragma once

#include "runtime/trace/ops/call/operator_call.hpp"
#include "runtime/trace/ops/reductions/reduction.hpp"

namespace adjit::trace {

/// The losses themselves, their sum or their mean, as the attribute "reduction" says ('mean').
TensorId reduced_loss(OperatorCall& call, TensorId losses);

}  // namespace adjit::trace
