// autosched/rematerialization.hpp -- which stages are computed a second time where memory is short.
//
// A network's activations wait from the forward for the backward. A stage whose results wait may
// be computed again where they are used next (`rematerialize` in moves.hpp): its operands are
// there, or are computed again themselves. What lives at once is estimated stage by stage, as if
// each were a kernel; whoever has the finished schedule measures it and asks again with another
// aim.
#pragma once

#include <cstdint>

#include "autosched/choices.hpp"
#include "autosched/nest_schedule.hpp"
#include "autosched/program.hpp"

namespace adjit {

/// Computes outputs early, and stages a second time, as the answers ask for: the last ones first,
/// each for all that reads it behind the longest time in which nothing does. For programs whose
/// stages are kernels without loops.
Program rematerialize_stages(Program program, const ReductionPlans& plans, const Choices& choices);

/// Answers under which no more than `bytes` of workspace should live at once in what
/// rematerialize_stages makes of the program, or as little as can be had: greedily the stage that
/// spares most for its work (rematerialization as in Kirisame et al., 2021, decided before anything
/// runs).
Answers rematerialized_within(const Program& program, const ReductionPlans& plans, int64_t bytes);

}  // namespace adjit
