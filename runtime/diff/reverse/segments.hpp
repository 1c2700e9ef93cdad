// runtime/diff/reverse/segments.hpp -- scans in segments, so that the derivative keeps few carries.
#pragma once

#include <span>

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// Every scan with a segment length k (Scan::segment) shorter than its T steps, through which a
/// derivative with respect to the inputs numbered `wrt` passes, becomes a scan over T / k segments
/// whose step is a call to recompute of k steps; what is left of T follows as one more call:
///   carries kept: T / k at the starts of segments, and k inside the one that is recomputed.
/// Computes the same values. Scanned operands and stacked results are copied into and out of
/// segments.
Graph segment_scans(const Graph& graph, std::span<const size_t> wrt);

}  // namespace adjit::diff
