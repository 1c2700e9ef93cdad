// autosched/cpu/tile/factor_choices.hpp -- how many instances of an axis a register tile may have.
#pragma once

#include <cstdint>
#include <vector>

#include "autosched/cpu/tile/tile_setting.hpp"

namespace adjit::sched {

/// Whether all instances of a short reduction axis are of use by themselves: its masks are then
/// computed outside the other reduction loops.
bool takes_taps(const TileSetting& t, size_t axis);
/// Whether `factor` instances of a reduction axis are a piece of a row that is loaded at once.
bool takes_rows(const TileSetting& t, size_t axis, int64_t factor);
/// Factors to try along an axis, ascending. `reused`: every operand is read several times.
std::vector<int64_t> factor_choices(const TileSetting& t, bool reused, size_t axis);

}  // namespace adjit::sched
