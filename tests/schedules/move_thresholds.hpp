// tests/schedules/move_thresholds.hpp -- which schedules each number of the tables decides.
#pragma once

#include <string>
#include <vector>

namespace adjit::testing {

/// Moves every row of autosched/machine/thresholds.def and core_costs.def, or those of `only`
/// ("a,b"), and schedules each graph again for every machine. `ways`, some of: "down" and "up" by a
/// quarter (whole numbers by at least one), "least" to 0 (whole numbers: 1), "most" to a thousand
/// times the value. Prints a line a graph as soon as it is known: a JSON object, {"graph": name,
/// way: [row, ...]}, of the rows that give it other moves. Returns 0.
///
/// Rows are moved together, and where that changes a graph's moves, by halves: a row is not found
/// where others that move with it hide what it does.
int move_thresholds(const std::vector<std::string>& sources, const std::string& ways,
                    const std::string& only);

}  // namespace adjit::testing
