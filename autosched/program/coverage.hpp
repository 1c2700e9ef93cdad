// autosched/program/coverage.hpp -- whether what is computed in the loops of a nest is all of a
// tensor.
//
// Example: a host sums x(8 p + r, j) over r < 8 for p < 4. An iteration of its loops p and r takes
// row 8 p + r of a tensor with 32 rows: p and r are the digits of the row's number, so that each
// row is taken in exactly one.
#pragma once

#include "autosched/program/required_region.hpp"

namespace adjit::sched {

/// Whether the regions of all iterations of the host's loops [0, depth) cover the stage's results,
/// each point once. The host is the root of a kernel.
bool covers_exactly_once(const Program& program, const Nest& host, size_t depth, size_t stage,
                         const Region& region);

/// Whether the host's code runs what is attached for all of these regions that have a point in the
/// results: a loop over a reduction ends early where the host's domain has no more points, and what
/// is attached behind that is not run.
bool comes_to_all_points(const Program& program, const Nest& host, size_t depth, size_t stage,
                         const Region& region);

/// Whether results that are attached to a kernel's root, are not local and are read by none of its
/// nests are computed whole: each point in one iteration.
bool unread_results_are_whole(const Program& program, const Kernel& kernel,
                              std::string* which = nullptr);

}  // namespace adjit::sched
