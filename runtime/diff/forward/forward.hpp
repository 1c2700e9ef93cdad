// runtime/diff/forward/forward.hpp -- forward mode on stages: a graph in, the graph of its tangents
// out.
//
// Every stage is followed by the stage of its tangent, over the same domain. Worked example,
// Y[i] = sum_r tanh(X[i, r]) * W[r]:
//   t_Y[i] = sum_r (1 - tanh(X[i, r])^2) * t_X[i, r] * W[r] + tanh(X[i, r]) * t_W[r]
// How a combiner weighs the tangents of its points is what reverse mode seeds them with
// (reducers.hpp): the winner's tangent for max, the product of the others for a product; so both
// modes agree on ties and zeros by construction. Custom reducers become reducers of dual numbers.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

struct ForwardOptions {
  std::vector<size_t> wrt;    // positions in forward.inputs that get a tangent; each once
  bool keep_outputs = false;  // also return the forward's outputs
  bool clean = true;  // inline views before and simplify after (runtime/diff/simplify/simplify.hpp)
};

/// The Jacobian-vector product of `forward`.
/// Inputs: forward's inputs, then one tangent per entry of wrt (its input's shape and dtype).
/// Outputs: forward's outputs if keep_outputs, then one tangent per float output (its shape and
/// dtype; zeros where it depends on no entry of wrt). The result is an ordinary graph: this
/// function and vjp apply to it again. Linear in the nodes of `forward`; no recursion but into the
/// bodies of scans.
/// Throws ErrorCode::NotDifferentiable with the user's line and a remedy where a tangent reaches a
/// call, or when wrt names an integer input; ErrorCode::Invalid for positions out of range or
/// listed twice.
Graph jvp(const Graph& forward, const ForwardOptions& options);

}  // namespace adjit::diff
