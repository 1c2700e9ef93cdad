// jit/engine/plan/memory_budget.hpp -- schedules whose workspace is bounded.
#pragma once

#include <cstdint>

#include "autosched/machine/target.hpp"
#include "autosched/program/program.hpp"

namespace adjit::engine {

/// Bytes that a run of the program allocates besides its outputs: what lies between kernels, and
/// the slots of as many threads as the schedule has cores.
int64_t workspace_of(const Program& program);

/// The schedule that compiling takes where its workspace has at most `budget` bytes, else one that
/// computes results early, and some stages a second time
/// (autosched/passes/plan_rematerialization.hpp), so that it has. Deterministic; makes a handful of
/// schedules. Where none is found, ErrorCode::Schedule names the stage that needs most, what lies
/// in memory while it runs, and a budget that will do.
Program schedule_within(const Graph& graph, const Target& target, int64_t budget);

/// Raises that error of a program.
[[noreturn]] void refuse_workspace(const Program& program, int64_t budget);

}  // namespace adjit::engine
