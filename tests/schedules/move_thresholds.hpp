// tests/schedules/move_thresholds.hpp -- which schedules each threshold decides.
#pragma once

#include <string>
#include <vector>

namespace adjit::testing {

/// Moves every row of autosched/machine/thresholds.def, or those of `only` ("a,b"), a quarter down
/// and up (whole numbers by at least one), to 0 (whole numbers: 1) and to a thousand times its
/// value, schedules the graphs again for every machine, and prints one JSON object, {threshold:
/// {"down": [graph, ...], "up": [...], "least": [...], "most": [...]}}, of those whose moves are
/// others for any. Returns 0.
int move_thresholds(const std::vector<std::string>& sources, const std::string& only);

}  // namespace adjit::testing
