// autosched/cpu/passes/tile_fusion/spill_or_recompute.hpp -- what is done about large results that
// one level of rows passes to another: kept as a whole, or computed again.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "autosched/cpu/passes/tile_fusion/cost.hpp"

namespace adjit::sched {

/// Stages that are to be computed again for a later level, so that what passes to it need not
/// exist as a whole.
struct RowsAgain {
  std::vector<TensorId> stages;  // by their first results, the last ones first
  TensorId reader;               // the first stage of that level which reads such, by its result
};

struct RowPassing {
  std::vector<RowsAgain> again;  // those of the last level first
  std::set<TensorId> kept;       // with that of other groups
  bool too_much = false;         // to keep all of it
};

/// For every level but the first, what takes less time, as long as not too much is kept. `kept`: of
/// other groups. nullopt where a stage would have to be computed again that cannot be.
std::optional<RowPassing> passing_of(const RowReads& reads, const RowStages& common,
                                     const RowLevels& levels, const std::set<TensorId>& kept);

/// Computes these stages again, in front of what reads them.
Program compute_rows_again(Program program, const std::vector<RowsAgain>& again);

}  // namespace adjit::sched
