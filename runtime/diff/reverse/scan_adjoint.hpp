// runtime/diff/reverse/scan_adjoint.hpp -- the derivative of a scan is a scan in the other
// direction.
//
// Forward step: (c', y_t) = body(c, x_t, w). Its derivative walks time backwards with the
// cotangents of the carries as its carries, and sums of the fixed operands' gradients beside them:
//   (dc, dw + gw), dx_t = vjp(body)(c_t, x_t, w; dc', dy_t)
// where c_t, the carry that entered step t, is stacked by the forward scan if the derivative needs
// it.
#pragma once

#include <functional>
#include <span>

#include "runtime/diff/rules/accumulate.hpp"
#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// Appends the reverse scan of graph.stages[stage], given one cotangent per result, and reports the
/// gradient of every operand for which `active` answers true. May add stacked results (carries) to
/// the forward scan.
void derive_scan(Graph& graph, size_t stage, std::span<const Cotangent> cotangents,
                 const std::function<bool(TensorId)>& active,
                 const std::function<void(TensorId operand, TensorId gradient)>& report);

}  // namespace adjit::diff
