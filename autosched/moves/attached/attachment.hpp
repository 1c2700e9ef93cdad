// autosched/moves/attached/attachment.hpp -- whether a stage can be computed at a loop of another,
// and what it would be there.
#pragma once

#include <span>

#include "autosched/program/nests.hpp"
#include "autosched/program/required_region.hpp"

namespace adjit::sched {

struct Attachment {
  const char* refusal = nullptr;  // why compute_at is not legal; null when it is
  NestPath from, to;              // the stage's nest now, and the host's
  Region region;
  bool whole = false;  // read elsewhere too: stored at its place in the whole tensor
};

/// What compute_at(program, stage, host, depth) would do.
Attachment attachment(const Program& program, size_t stage, size_t host, size_t depth);
/// What compute_with(program, stage, host, depth, indices) would do.
Attachment attachment_with(const Program& program, size_t stage, size_t host, size_t depth,
                           std::span<const Affine> indices);

/// Attaches the stage there. The attachment has no refusal.
void attach(Program& program, size_t stage, size_t depth, const Attachment& where);

}  // namespace adjit::sched
