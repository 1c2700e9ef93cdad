// autosched/search/search.cpp -- other answers to the decisions of a schedule, priced.
#include "autosched/search/search.hpp"

#include <algorithm>
#include <memory>
#include <random>
#include <set>

#include "autosched/cpu/cost/network.hpp"
#include "autosched/search/cpu_programs.hpp"
#include "autosched/search/gpu_programs.hpp"
#include "autosched/search/scheduler.hpp"

namespace adjit::sched {
namespace {

constexpr size_t kMostOptions = 16;
// Of the search that every compilation makes: schedules of a stage, in all programs together.
constexpr size_t kStageSchedules = 240;
constexpr size_t kMostPrograms = 24, kFewestPrograms = 8;
constexpr double kMargin = 0.25;  // predicted gain from which a schedule is preferred

std::unique_ptr<PricedPrograms> programs_of(const Graph& graph, const Target& target) {
  if (const auto* gpu = std::get_if<GpuMachine>(&target))
    return std::make_unique<GpuPrograms>(graph, *gpu);
  return std::make_unique<CpuPrograms>(graph, cpu_of(target));
}

// With those of scans' steps.
size_t stage_count(const Graph& graph) {
  size_t count = 0;
  std::vector<const Graph*> open{&graph};
  while (!open.empty()) {
    const Graph& g = *open.back();
    open.pop_back();
    count += g.stages.size();
    for (const Stage& stage : g.stages)
      if (stage.scan) open.push_back(stage.scan->body.get());
  }
  return count;
}

bool cheaper(const Priced& a, const Priced& b) {
  return a.candidate.microseconds < b.candidate.microseconds;
}

std::vector<Candidate> candidates_of(std::vector<Priced> priced) {
  std::vector<Candidate> found;
  for (Priced& one : priced) found.push_back(std::move(one.candidate));
  std::stable_sort(found.begin() + 1, found.end(), [](const Candidate& a, const Candidate& b) {
    return a.microseconds < b.microseconds;
  });
  return found;
}

std::vector<Candidate> found_by(PricedPrograms& search, const SearchOptions& options) {
  std::vector<Priced> all{search.start()};
  search.is_new(all.front());
  std::vector<Priced> beam = all;
  for (size_t level = 0; level < options.levels && !beam.empty(); ++level) {
    // Every level has its share of the budget, or wide graphs would never combine two answers.
    const size_t limit = options.programs * (level + 1) / options.levels;
    std::vector<Wanted> wanted;
    std::set<Answers> more;  // of these, what has not been made
    // Every decision's second option before any third one.
    for (size_t option = 0; option < kMostOptions; ++option)
      for (const Priced& from : beam)
        for (const Offer& offer : from.offers) {
          if (option >= offer.options.size() || option == offer.taken) continue;
          if (std::ranges::count(options.fixed, offer.subject.decision) > 0) continue;
          if (search.made() + more.size() >= limit) continue;
          wanted.push_back(changed(from, offer, option));
          if (!search.is_made(wanted.back().answers)) more.insert(wanted.back().answers);
        }
    search.price_all(wanted);
    std::vector<Priced> next;
    for (const Wanted& one : wanted)
      if (const Priced* made = search.price(one); made && search.is_new(*made))
        next.push_back(*made);
    std::ranges::stable_sort(next, cheaper);
    all.insert(all.end(), next.begin(), next.end());
    if (next.size() > options.beam) next.resize(options.beam);
    beam = std::move(next);
  }
  return candidates_of(std::move(all));
}

// nullopt: the default schedule, as always on a GPU, whose model no measured times have confirmed.
std::optional<Candidate> clearly_best(PricedPrograms& search, const Graph& graph,
                                      const Target& target) {
  const auto* cpu = std::get_if<CpuMachine>(&target);
  const size_t programs =
      std::min(kMostPrograms, kStageSchedules / std::max<size_t>(stage_count(graph), 1));
  if (programs < kFewestPrograms || !cpu || !CostNetwork::shipped_for(*cpu)) return std::nullopt;
  const std::vector<Candidate> found = found_by(search, {programs, 3, 2, fixed_decisions()});
  const bool clear =
      found.size() > 1 && found[1].microseconds * (1 + kMargin) < found[0].microseconds;
  return clear ? std::optional(found[1]) : std::nullopt;
}

}  // namespace

std::vector<Candidate> search(const Graph& graph, const Target& target,
                              const SearchOptions& options) {
  return found_by(*programs_of(graph, target), options);
}

std::optional<Candidate> choice(const Graph& graph, const Target& target) {
  return clearly_best(*programs_of(graph, target), graph, target);
}

Program chosen_schedule(const Graph& graph, const Target& target) {
  const std::unique_ptr<PricedPrograms> programs = programs_of(graph, target);
  return programs->program(clearly_best(*programs, graph, target));
}

std::vector<Candidate> random_candidates(const Graph& graph, const Target& target, size_t count,
                                         uint64_t seed) {
  const std::unique_ptr<PricedPrograms> programs = programs_of(graph, target);
  PricedPrograms& search = *programs;
  std::vector<Priced> all{search.start()};
  search.is_new(all.front());
  std::mt19937_64 random(seed);
  const auto below = [&](size_t limit) { return static_cast<size_t>(random() % limit); };
  for (size_t attempt = 0; attempt < 8 * count && all.size() <= count; ++attempt) {
    const Priced* made = &search.start();
    for (size_t changes = 1 + below(3); changes > 0 && made; --changes) {
      if (made->offers.empty()) return candidates_of(std::move(all));
      const Offer& offer = made->offers[below(made->offers.size())];
      const size_t option = below(offer.options.size());
      if (option != offer.taken) made = search.price(changed(*made, offer, option));
    }
    if (made && search.is_new(*made)) all.push_back(*made);
  }
  return candidates_of(std::move(all));
}

Program program_of(const Graph& graph, const Target& target, const Candidate& candidate) {
  Choices choices(candidate.answers);
  return schedule_with(graph, target, choices);
}

}  // namespace adjit::sched
