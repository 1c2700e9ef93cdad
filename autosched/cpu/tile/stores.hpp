// autosched/cpu/tile/stores.hpp -- what a register tile's results cost after its last step.
#pragma once

#include <vector>

#include "autosched/cpu/tile/tile_setting.hpp"

namespace adjit::sched {

/// Cycles to store all results after the last step of a pass, and to load them before the first.
double storing(const TileSetting& t, const std::vector<int64_t>& factors);

/// Of an element of results whose lanes lie apart.
double stored_apart(const TileSetting& t, const std::vector<int64_t>& factors);

/// Of a result whose partial ones in the lanes a tile folds together.
double folding(const TileSetting& t, const std::vector<int64_t>& factors);

}  // namespace adjit::sched
