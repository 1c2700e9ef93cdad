// autosched/search/gpu_programs.cpp -- programs for a GPU, priced by its cost model.
#include "autosched/search/gpu_programs.hpp"

#include "autosched/gpu/cost/cost.hpp"
#include "autosched/gpu/schedule.hpp"
#include "autosched/search/scheduler.hpp"

namespace adjit::sched {

// One after the other: each takes about as long as the default schedule does.
std::vector<PricedPrograms::Found> GpuPrograms::make(const std::vector<const Wanted*>& wanted) {
  std::vector<Found> all;
  for (const Wanted* one : wanted)
    all.push_back(unless_refused<Found>([&] {
      Choices choices(one->answers);
      const Program made = made_with(choices);
      return found(made, choices, one->changes);
    }));
  return all;
}

Program GpuPrograms::made_with(Choices& choices) {
  Attempts sure;
  return all_passes(graph(), machine_, {})(choices, sure);
}

Program GpuPrograms::made_with_fallbacks(Choices& choices) const {
  return schedule_with(graph(), machine_, choices);
}

Prices GpuPrograms::prices_of(const Program& program) const {
  return prices_from(program, predict(program, machine_));
}

}  // namespace adjit::sched
