// autosched/cpu/passes/persistent_scan.hpp -- tasks that go through all steps of a scan by
// themselves.
#pragma once

#include <optional>

#include "autosched/cpu/passes/stage_plans.hpp"
#include "autosched/decisions/choices.hpp"
#include "autosched/machine/cpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Schedules the kernels of a scan's steps, which have plain loops, with the same tasks for all of
/// them, so that every task goes through all steps without waiting for others (task_chains.hpp):
/// parts of the first axis, of the size that suits the kernel of the most points. nullopt where
/// there are none, where operands are too large for it, or steps too short.
std::optional<Program> schedule_whole_steps(const Program& program, const Scan& scan,
                                            const CpuMachine& machine, const ReductionPlans& plans,
                                            Choices& choices);

}  // namespace adjit::sched
