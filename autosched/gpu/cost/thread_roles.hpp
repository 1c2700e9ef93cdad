// autosched/gpu/cost/thread_roles.hpp -- which iterations of a kernel's loops run side by side.
#pragma once

#include <vector>

#include "autosched/analysis/footprint.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Who runs the iterations of a loop.
enum class Role : uint8_t {
  Grid,   // a block each
  Block,  // a warp each, of one block
  Warp,   // a thread each, of one warp
  Step,   // the same thread, one after the other
  Lane,   // the same thread, with one instruction
};

/// A loop, or a part of one: the last `trips` of every `apart * trips` iterations run in one role,
/// what is left of it is another part.
struct RoleOfLoop {
  size_t loop = 0;  // position in the path
  Role role = Role::Step;
  double trips = 1;
  double apart = 1;  // iterations of the loop from one to the next
};

/// The loops around a nest's body, outermost first, by role. Threads are numbered as the emitter
/// numbers them: those of the innermost loop follow each other.
std::vector<RoleOfLoop> roles_of(const std::vector<Loop>& path, bool is_block_kernel);

}  // namespace adjit::sched
