// runtime/diff/batch/batch.hpp -- automatic batching: a graph in, the graph of many independent
// calls out.
//
// A stage that depends on a batched tensor gets one more output axis, in front; stages that do not
// stay as they are and are computed once. Worked example, Y[i] = sum_k A[i, k] * x[k] with x
// batched by 8 along axis 1 and A not:
//   Y[b, i] = sum_k A[i, k] * x[k, b]      b in 0:8
// Nothing is copied to bring an input's batch axis to the front: its reads get the batch index
// where the axis is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// Where the batch axis of a tensor is, counted in the batched shape; none: the tensor has none.
using BatchAxis = std::optional<size_t>;

/// `graph` applied to each of `size` elements of a batch.
/// Inputs: input k has one more dimension of extent `size` at in_axes[k]. Outputs: output k
/// likewise at out_axes[k]; one that does not depend on the batch is repeated. Element b of every
/// output is bitwise what `graph` gives for element b of the inputs. Linear in the nodes of
/// `graph`; no recursion but into the bodies of scans. Throws ErrorCode::Invalid for axes that do
/// not fit, for out_axes without axis where the output depends on the batch, and, with the user's
/// line, for a call that would have to be batched.
Graph vmap(const Graph& graph, std::span<const BatchAxis> in_axes, int64_t size,
           std::span<const BatchAxis> out_axes);

}  // namespace adjit::diff
