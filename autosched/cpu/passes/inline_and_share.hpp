// autosched/cpu/passes/inline_and_share.hpp -- stages inlined into their readers, with the sums
// over pairs that share what they compute in view.
#pragma once

#include "autosched/cpu/passes/stage_plans.hpp"
#include "autosched/decisions/choices.hpp"
#include "autosched/machine/cpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Inlines stages (inline_cheap.hpp) and lets sums share values of pairs (share_pairwise.hpp),
/// whose plans are noted. Pairs are first looked for where their values are computed again by all
/// readers. Where sums are found to share them, that is how it stays, unless others than these
/// would compute more for it. All nests must have plain loops.
Program inline_and_share(const Program& program, const CpuMachine& machine, ReductionPlans& plans,
                         Choices& choices);

}  // namespace adjit::sched
