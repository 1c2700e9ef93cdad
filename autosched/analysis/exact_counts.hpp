// autosched/analysis/exact_counts.hpp -- exact counts of what stages do, before any schedule.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/graph/graph.hpp"

namespace adjit::sched {

/// Exact number of body evaluations and of their floating operations; those of a scan are its
/// steps', those of segments (segments.hpp) as if each place were one row's. Nothing when a domain
/// has too many pieces to count, for calls, and for scans that run until their data says so.
struct StageTotals {
  int64_t points = 0, flops = 0;
};
std::optional<StageTotals> totals(const Graph& graph, const Stage& stage);

/// Bytes of a tensor's elements.
int64_t tensor_bytes(const Graph& graph, TensorId id);

}  // namespace adjit::sched
