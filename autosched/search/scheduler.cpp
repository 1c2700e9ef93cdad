// autosched/search/scheduler.cpp -- schedules for whichever machine a target is.
#include "autosched/search/scheduler.hpp"

#include "autosched/cpu/schedule.hpp"
#include "autosched/gpu/schedule.hpp"
#include "autosched/passes/fallbacks.hpp"

namespace adjit::sched {
namespace {

MakeSchedule all_passes(const Graph& graph, const Target& target, const PassListener& listener) {
  return std::visit(
      [&](const auto& machine) { return sched::all_passes(graph, machine, listener); }, target);
}

}  // namespace

Program default_schedule(const Graph& graph, const Target& target) {
  Choices own;
  return schedule_with(graph, target, own);
}

Program schedule_with(const Graph& graph, const Target& target, Choices& choices,
                      const PassListener& listener) {
  return schedule_or_fall_back(graph, target, choices, all_passes(graph, target, listener));
}

Program cautious_schedule(const Graph& graph, const Target& target, Choices& choices,
                          Attempts& attempts, const PassListener& listener) {
  return schedule_with_caution(graph, target, choices, attempts,
                               all_passes(graph, target, listener));
}

Rematerialization rematerialization_of(const Graph& graph, const Target& target) {
  return std::visit([&](const auto& machine) { return rematerialization_of(graph, machine); },
                    target);
}

}  // namespace adjit::sched
