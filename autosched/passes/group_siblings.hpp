// autosched/passes/group_siblings.hpp -- which stages share one pass.
#pragma once

#include "autosched/decisions/choices.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Sums of a reduction of one kernel, at most: each needs accumulators of its own.
inline constexpr size_t kMostSums = 8;

/// Groups of sums over one domain, the latest ones, that are looked at for a further one (a guess).
inline constexpr size_t kOpenGroups = 4;

/// Whether nothing that the stages `from` (ascending) compute reaches `to`; false when that takes
/// too long to tell. `producers`: defining_stages().
bool independent(const Program& program, const std::vector<size_t>& producers,
                 const std::vector<size_t>& from, size_t to);

/// Whether a stage sums products of operands of which it reads each element for eight terms or
/// more: it wants its registers for one tile.
bool multiplies_pairs(const LoweredGraph& graph, const Stage& stage);

/// Whether sums over one domain save much of what they compute for each point (the exponentials of
/// a kernel's pairs) where one kernel computes it for all.
bool share_values(const LoweredGraph& graph, std::span<const ExprId> some,
                  std::span<const ExprId> others, const Domain& domain);

/// Fuses stages over equal domains that read a tensor in common and do not depend on each other,
/// without a combiner or with one that combines each result by itself, while their bodies stay
/// within the limit of one kernel; those that multiply pairs where they share_values(). All nests
/// must have plain loops; those that are `planned` already stay as they are.
Program fuse_sibling_groups(Program program, const StageSet& planned, Choices& choices);

}  // namespace adjit::sched
