// autosched/search/scheduler.cpp -- schedules for whichever machine a target is.
#include "autosched/search/scheduler.hpp"

#include "autosched/cpu/schedule.hpp"
#include "autosched/gpu/schedule.hpp"

namespace adjit::sched {

Program default_schedule(const Graph& graph, const Target& target) {
  return std::visit([&](const auto& machine) { return default_schedule(graph, machine); }, target);
}

Program schedule_with(const Graph& graph, const Target& target, Choices& choices,
                      const PassListener& listener) {
  return std::visit(
      [&](const auto& machine) { return schedule_with(graph, machine, choices, listener); },
      target);
}

Rematerialization rematerialization_of(const Graph& graph, const Target& target) {
  return std::visit([&](const auto& machine) { return rematerialization_of(graph, machine); },
                    target);
}

}  // namespace adjit::sched
