// autosched/cpu/pass_list.hpp -- the default schedule: a list of passes over a program.
//
// A pass is a function Program -> Program. What it settles about stages for the passes behind it
// stands in the context's plans, and nowhere else; what it may decide otherwise is in its row of
// the list. The steps of a scan are a program of their own, with a context of their own, which the
// pass "schedule kernels" takes through the same list.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "autosched/cpu/passes/stage_plans.hpp"
#include "autosched/decisions/attempts.hpp"
#include "autosched/decisions/choices.hpp"
#include "autosched/machine/cpu_machine.hpp"
#include "autosched/passes/pass_listener.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// What passes read and write beside the program.
struct ScheduleContext {
  const CpuMachine& machine;
  Choices& choices;
  Attempts& attempts;
  StagePlans plans = {};
  const Scan* scan = nullptr;  // whose steps the program is, or null
  PassListener listener = {};  // may be empty
};

struct Pass {
  std::string_view name;
  Phase phase;
  std::vector<Decision> decisions;  // that it may ask; another one is ErrorCode::Internal
  bool of_steps;                    // whether it runs over the steps of scans, too
  Program (*run)(Program program, ScheduleContext& context);
};

/// In the order in which they run.
std::span<const Pass> passes();

/// The plain loops that the passes begin with.
Program start_of(const Graph& graph, const ScheduleContext& context);

/// Runs the passes of these phases. A pass that a move refuses is left out where the context's
/// attempts are cautious, else ErrorCode::Schedule.
Program run_passes(Program program, ScheduleContext& context, Phase first, Phase last);

}  // namespace adjit::sched
