// autosched/cpu/schedule.cpp -- the default schedule of a processor.
#include "autosched/cpu/schedule.hpp"

#include <utility>

namespace adjit::sched {

MakeSchedule all_passes(const Graph& graph, const CpuMachine& machine,
                        const PassListener& listener) {
  return [&graph, &machine, listener](Choices& choices, Attempts& attempts) {
    ScheduleContext context{machine, choices, attempts, {}, nullptr, listener};
    Program start = start_of(graph, context);
    return run_passes(std::move(start), context, Phase::Stages, Phase::Loops);
  };
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
