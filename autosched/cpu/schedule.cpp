// autosched/cpu/schedule.cpp -- a good schedule at once, without search.
#include "autosched/cpu/schedule.hpp"

#include <utility>

#include "autosched/analysis/verify.hpp"
#include "autosched/lower/initial_program.hpp"

namespace adjit::sched {
namespace {

Program run_all(const Graph& graph, ScheduleContext context) {
  Program start = start_of(graph, context);
  return run_passes(std::move(start), context, Phase::Stages, Phase::Loops);
}

}  // namespace

Program default_schedule(const Graph& graph, const CpuMachine& machine) {
  Choices own;
  return schedule_with(graph, machine, own);
}

Program schedule_with(const Graph& graph, const CpuMachine& machine, Choices& choices,
                      const PassListener& listener) {
  Choices trial = choices;
  try {
    Attempts sure;
    Program made = run_all(graph, {machine, trial, sure, {}, nullptr, listener});
    choices = std::move(trial);
    return made;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Schedule) throw;
  }
  Attempts attempts = Attempts::with_caution();
  return cautious_schedule(graph, machine, choices, attempts, listener);
}

Program cautious_schedule(const Graph& graph, const CpuMachine& machine, Choices& choices,
                          Attempts& attempts, const PassListener& listener) {
  try {
    Program made = run_all(graph, {machine, choices, attempts, {}, nullptr, listener});
    verify(made);
    return made;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Schedule) throw;
    return plain_schedule(graph, machine, error.what());
  }
}

Program plain_schedule(const Graph& graph, const Target& target, const std::string& reason) {
  Program plain = initial_program(graph, target);
  plain.fallbacks = {"all loops: " + reason};
  return plain;
}

}  // namespace adjit::sched
