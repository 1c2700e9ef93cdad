// autosched/cpu/schedule.cpp -- a good schedule at once, without search.
#include "autosched/cpu/schedule.hpp"

#include <utility>

#include "autosched/passes/fallbacks.hpp"

namespace adjit::sched {
namespace {

MakeSchedule all_passes(const Graph& graph, const CpuMachine& machine,
                        const PassListener& listener) {
  return [&](Choices& choices, Attempts& attempts) {
    ScheduleContext context{machine, choices, attempts, {}, nullptr, listener};
    Program start = start_of(graph, context);
    return run_passes(std::move(start), context, Phase::Stages, Phase::Loops);
  };
}

}  // namespace

Program default_schedule(const Graph& graph, const CpuMachine& machine) {
  Choices own;
  return schedule_with(graph, machine, own);
}

Program schedule_with(const Graph& graph, const CpuMachine& machine, Choices& choices,
                      const PassListener& listener) {
  return schedule_or_fall_back(graph, machine, choices, all_passes(graph, machine, listener));
}

Program cautious_schedule(const Graph& graph, const CpuMachine& machine, Choices& choices,
                          Attempts& attempts, const PassListener& listener) {
  return schedule_with_caution(graph, machine, choices, attempts,
                               all_passes(graph, machine, listener));
}

Rematerialization rematerialization_of(const Graph& graph, const CpuMachine& machine) {
  Choices usual;
  Attempts attempts = Attempts::with_caution();
  ScheduleContext context{machine, usual, attempts};
  Program start = start_of(graph, context);
  const Program stages = run_passes(std::move(start), context, Phase::Stages, Phase::Stages);
  return plan_rematerialization(stages, planned_stages(context.plans.reductions));
}

}  // namespace adjit::sched
