// autosched/passes/group_siblings.hpp -- which stages share one pass.
#pragma once

#include "autosched/decisions/choices.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Fuses stages without a combiner over equal boxes that read a tensor in common and do not depend
/// on each other, while their bodies stay within the limit of one kernel. All nests must have plain
/// loops; those that are `planned` already stay as they are.
Program fuse_sibling_groups(Program program, const StageSet& planned, Choices& choices);

}  // namespace adjit::sched
