// autosched/program/segment_loop.hpp -- loops that go over a segment alone.
#pragma once

#include <cstddef>
#include <optional>

#include "autosched/program/program.hpp"
#include "autosched/program/segments.hpp"

namespace adjit::sched {

/// The loop of a nest that begins and ends where the segments of its stage do: the only one over
/// their axis, and serial. All that says where they begin and end stands outside of it, so that
/// neither lanes nor threads of the loops inside have segments of their own; of a reduction, only
/// the register tile is inside. nullopt: each point of the axis asks whether it is in the segment.
std::optional<size_t> segment_loop(const Graph& graph, const Nest& nest, const Segments& segments);

}  // namespace adjit::sched
