// runtime/diff/reverse/reverse.hpp -- reverse mode on stages: a graph in, the graph of its
// gradients out.
//
// Worked example. Forward C[i, j] = sum_k A[i, k] * B[k, j]. One reverse sweep over the body gives
// the partial of each access: dC[i, j] * B[k, j] for A[i, k] and dC[i, j] * A[i, k] for B[k, j].
// Each access's fibre, the set of (i, j, k) that read one element, turns it into a gather without a
// zero summand:
//   dA[i, k] = sum_j dC[i, j] * B[k, j]        dB[k, j] = sum_i dC[i, j] * A[i, k]
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

struct ReverseOptions {
  std::vector<size_t> wrt;  // positions in forward.inputs whose gradients are wanted; may repeat
  std::vector<size_t> outputs;  // positions in forward.outputs that get a cotangent
  bool keep_outputs = false;    // also return the forward's outputs
  bool clean = true;  // inline views before and simplify after (runtime/diff/simplify/simplify.hpp)
  // More positions in forward.inputs that depend on what a derivative around this one is taken of:
  // calls with a gradient by hand that depend on them run their forward (run_forwards, calls.hpp).
  std::vector<size_t> reached = {};
};

/// The vector-Jacobian product of `forward`.
/// Inputs: forward's inputs, then one cotangent per listed output (its shape and dtype).
/// Outputs: forward's outputs if keep_outputs, then one gradient per entry of wrt (its input's
/// shape and dtype). An input that receives no contribution gets zeros. The result is an ordinary
/// graph: higher orders are this function again. Linear in the nodes of `forward`; no recursion.
/// Throws ErrorCode::NotDifferentiable with the user's line and a remedy where a cotangent reaches
/// an operation without derivative, or when wrt names an integer input; ErrorCode::Invalid for
/// positions out of range.
Graph vjp(const Graph& forward, const ReverseOptions& options);

/// The gradient of the scalar output `output` (rank 0 or one element; ErrorCode::Shape otherwise),
/// seeded with 1. Inputs: forward's. Outputs: the value first if keep_value, then one gradient per
/// entry of wrt.
Graph gradient(const Graph& forward, std::span<const size_t> wrt, size_t output, bool keep_value);

}  // namespace adjit::diff
