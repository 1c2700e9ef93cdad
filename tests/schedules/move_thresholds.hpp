// tests/schedules/move_thresholds.hpp -- which schedules each threshold decides.
#pragma once

#include <string>
#include <vector>

namespace adjit::testing {

/// Moves every row of autosched/machine/thresholds.def a quarter down and up (whole numbers by at
/// least one), schedules the graphs again for every machine, and prints one JSON object,
/// {threshold:
/// {"down": [graph, ...], "up": [...]}}, of those whose moves are others for any. Returns 0.
int move_thresholds(const std::vector<std::string>& sources);

}  // namespace adjit::testing
