// autosched/search/cpu_programs.cpp -- programs for a processor, priced by its cost model.
#include "autosched/search/cpu_programs.hpp"

#include <algorithm>

#include "autosched/cpu/cost/cost.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/process/in_parallel.hpp"

namespace adjit::sched {
namespace {

Answers not_about_loops(Answers answers) {
  std::erase_if(answers,
                [](const auto& answer) { return phase_of(answer.first.decision) == Phase::Loops; });
  return answers;
}

}  // namespace

std::vector<PricedPrograms::Found> CpuPrograms::make(const std::vector<const Wanted*>& wanted) {
  prepare(wanted);
  const size_t threads = threads_for(wanted.size());
  std::vector<Found> found(wanted.size());
  in_parallel(wanted.size(), threads, [&](size_t k, size_t thread) {
    found[k] = unless_refused<Found>(
        [&] { return priced(wanted[k]->answers, wanted[k]->changes, memories_[thread]); });
  });
  return found;
}

// How many threads so many programs take. Each has a memory of tiles, which starts with what the
// first one has found so far.
size_t CpuPrograms::threads_for(size_t wanted) {
  const size_t threads =
      std::min(wanted, static_cast<size_t>(std::clamp(machine_.cores, 1, kMostThreads)));
  while (memories_.size() < threads)
    memories_.push_back(std::make_shared<TileMemory>(*memories_.front()));
  return threads;
}

// Answers about loops leave everything before them as it is: that is made once.
void CpuPrograms::prepare(const std::vector<const Wanted*>& wanted) {
  std::vector<std::pair<const Answers, std::optional<Known>>*> missing;
  for (const Wanted* one : wanted) {
    const auto [place, added] = prepared_.try_emplace(not_about_loops(one->answers));
    if (added) missing.push_back(&*place);
  }
  const size_t threads = threads_for(missing.size());
  in_parallel(missing.size(), threads, [&](size_t k, size_t thread) {
    missing[k]->second = unless_refused<std::optional<Known>>([&] {
      Choices choices(missing[k]->first);
      choices.remember_tiles(memories_[thread]);
      return before_loops(choices);
    });
  });
}

// After prepare(); changes nothing but the memory.
PricedPrograms::Found CpuPrograms::priced(const Answers& answers, const std::string& changes,
                                          const Memory& memory) const {
  const std::optional<Known>& known = prepared_.at(not_about_loops(answers));
  if (!known) return {};
  Choices choices(answers);
  choices.remember_tiles(memory);
  choices.go_on_from(known->offers);
  const Program made = with_loops(*known, choices);
  return found(made, choices, changes);
}

Program CpuPrograms::made_with(Choices& choices) {
  choices.remember_tiles(memories_.front());
  const auto known = prepared_.find(not_about_loops(choices.answers()));
  if (known == prepared_.end() || !known->second) return with_loops(before_loops(choices), choices);
  choices.go_on_from(known->second->offers);
  return with_loops(*known->second, choices);
}

Program CpuPrograms::made_with_fallbacks(Choices& choices) const {
  return schedule_with(graph(), machine_, choices);
}

CpuPrograms::Known CpuPrograms::before_loops(Choices& choices) const {
  Attempts sure;
  ScheduleContext context{machine_, choices, sure};
  Program start = start_of(graph(), context);
  Program program = run_passes(std::move(start), context, Phase::Stages, Phase::Layouts);
  return {std::move(program), std::move(context.plans), choices.offers()};
}

Program CpuPrograms::with_loops(const Known& known, Choices& choices) const {
  Attempts sure;
  ScheduleContext context{machine_, choices, sure, known.plans};
  return run_passes(known.program, context, Phase::Loops, Phase::Loops);
}

Prices CpuPrograms::prices_of(const Program& program) const {
  return prices_from(program, predict(program, machine_));
}

}  // namespace adjit::sched
