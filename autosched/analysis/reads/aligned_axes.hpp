// autosched/analysis/reads/aligned_axes.hpp -- the axes along which what a stage reads, and what
// that is made of, does not go beyond the stage's own points.
//
//   s(i, j) = sum over r of x(i, j + r);   y(i, j) = s(i, j - 1) + s(i, j + 1)
// All that y's points (i, j) are made of stands at the same i: rows along j need no other row.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "autosched/program/program.hpp"

namespace adjit::sched {

struct AlignedAxes {
  std::vector<size_t> axes;    // of the stage's results, ascending
  std::vector<size_t> stages;  // that it is made of, and the stage itself; ascending
};

/// The aligned axes of a stage and of all stages that it is made of for which `takes_part` holds;
/// what lies behind another one is not looked at. An axis is aligned where each of these stages has
/// a dimension that is read at that axis alone, on every way to the stage. `producers`: of each
/// tensor (defining_stages). Linear in the stages and their reads.
AlignedAxes aligned_axes(const LoweredGraph& graph, std::span<const size_t> producers, size_t stage,
                         const std::function<bool(size_t)>& takes_part);

}  // namespace adjit::sched
