// runtime/diff/batch/loop.hpp -- conditional scans, batched.
//
// Elements may stop at different steps. The batched loop runs as long as any element wants to; an
// element that has stopped keeps its carries. Its last carry, `any`, is one more than before:
//   (c, on)[b]' = on[b] ? body((c, on)[b]) : (c, on)[b];   any' = any over b of on[b]'
#pragma once

#include <span>

#include "runtime/diff/batch/batch.hpp"

namespace adjit::diff {

/// Whether any of `size` elements is true: a stage over a tensor of shape {size}.
TensorId any_of(Graph& graph, TensorId each, int64_t size);

/// A conditional scan on `size` elements that go on or stop by themselves. in_axes: one per input
/// of its body; all carries are batched along axis 0.
Scan batched_loop(const Scan& scan, std::span<const BatchAxis> in_axes, int64_t size);

}  // namespace adjit::diff
