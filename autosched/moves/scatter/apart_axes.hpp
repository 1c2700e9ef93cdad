// autosched/moves/scatter/apart_axes.hpp -- the axes of a scatter that write other coordinates for
// each of their points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "autosched/moves/moves.hpp"
#include "runtime/graph/graph.hpp"

namespace adjit::sched {

/// Those axes (InvertedAxes::apart) at coordinates of the result; nullopt where they and the rows
/// do not name all of its elements.
std::optional<std::vector<ExprId>> apart_at(ExprPool& pool, const Stage& stage,
                                            const InvertedAxes& axes,
                                            std::span<const int64_t> shape,
                                            std::span<const ExprId> coordinates);

}  // namespace adjit::sched
