// autosched/passes/fallbacks.cpp -- a schedule where a move refuses what was decided.
#include "autosched/passes/fallbacks.hpp"

#include <utility>

#include "autosched/analysis/verify.hpp"
#include "autosched/lower/initial_program.hpp"

namespace adjit::sched {

Program schedule_or_fall_back(const Graph& graph, const Target& target, Choices& choices,
                              const MakeSchedule& make) {
  Choices trial = choices;
  try {
    Attempts sure;
    Program made = make(trial, sure);
    choices = std::move(trial);
    return made;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Schedule) throw;
  }
  Attempts attempts = Attempts::with_caution();
  return schedule_with_caution(graph, target, choices, attempts, make);
}

Program schedule_with_caution(const Graph& graph, const Target& target, Choices& choices,
                              Attempts& attempts, const MakeSchedule& make) {
  try {
    Program made = make(choices, attempts);
    verify(made);
    return made;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Schedule) throw;
    return plain_schedule(graph, target, error.what());
  }
}

Program plain_schedule(const Graph& graph, const Target& target, const std::string& reason) {
  Program plain = initial_program(graph, target);
  plain.fallbacks = {"all loops: " + reason};
  return plain;
}

}  // namespace adjit::sched
