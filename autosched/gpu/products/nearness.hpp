// autosched/gpu/products/nearness.hpp -- how near to each other neighbouring points of a stage
// read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "autosched/program/lowered_graph.hpp"

namespace adjit::sched {

/// Elements that follow each other where a copy across reads them: a sector of float32.
inline constexpr int64_t kSectorElements = 8;

/// How near what a stage reads lies to what it reads at the next point along an axis, at some
/// points all over it: elements of a sector that both have, over all reads. Fused axes are divided,
/// so that some lie apart; 0 of reads at places that data chooses.
int64_t nearness_along(const LoweredGraph& graph, const Stage& stage, size_t axis);

/// Bytes of the sectors that a stage reads for each of its results, when neighbours take those
/// along which most lies together.
double sector_bytes_read(const LoweredGraph& graph, const Stage& stage);

}  // namespace adjit::sched
