// autosched/search/search.cpp -- other answers to the decisions of a schedule, priced.
#include "autosched/search/search.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <unordered_map>

#include "autosched/cpu/cost/network.hpp"
#include "autosched/cpu/schedule.hpp"
#include "autosched/cpu/tile/choose_tile.hpp"
#include "autosched/gpu/cost/cost.hpp"
#include "autosched/gpu/schedule.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/process/in_parallel.hpp"

namespace adjit::sched {
namespace {

constexpr size_t kMostOptions = 16;
// Of the search that every compilation makes: schedules of a stage, in all programs together.
constexpr size_t kStageSchedules = 240;
constexpr size_t kMostPrograms = 24, kFewestPrograms = 8;
constexpr int kMostThreads = 8;
constexpr double kMargin = 0.25;  // predicted gain from which a schedule is preferred

struct Priced {
  Candidate candidate;
  std::vector<Offer> offers;  // those about the slowest kernels first
  size_t moves = 0;           // signature
};

// Of a program: microseconds in all, and of the kernel that each stage is in.
struct Prices {
  double microseconds = 0;
  std::unordered_map<std::string, double> stages;
};

// The stages of a kernel, named as choices.hpp names subjects; recursive over scans within scans.
void stage_costs(const Program& program, const ProgramCost& cost, const std::string& prefix,
                 size_t& next, std::unordered_map<std::string, double>& costs) {
  for (const Kernel& kernel : program.kernels) {
    const std::string& name = stage_name(program.graph, program.graph.stages[kernel.root.stage]);
    if (kernel.steps) {
      stage_costs(*kernel.steps, cost, prefix + name + "/", next, costs);
      continue;
    }
    const KernelCost& entry = cost.kernels[next++];
    for_each_nest(kernel.root, [&](const Nest& nest) {
      costs[prefix + stage_name(program.graph, program.graph.stages[nest.stage])] =
          static_cast<double>(entry.calls) * entry.microseconds;
    });
  }
}

// The default schedule with some answers changed, and how that reads.
struct Wanted {
  Answers answers;
  std::string changes;
};

// `from` with one more answer.
Wanted changed(const Priced& from, const Offer& offer, size_t option) {
  Wanted wanted{from.candidate.answers, from.candidate.changes};
  wanted.answers[offer.subject] = option;
  wanted.changes += (wanted.changes.empty() ? "" : "; ") +
                    std::string(name_of(offer.subject.decision)) + " of " + offer.subject.stage +
                    ": " + offer.options[option] + " instead of " + offer.options[offer.taken];
  return wanted;
}

// What `make` gives; nothing for a combination of answers that one of the moves refuses.
template <class Result, class Make>
Result unless_refused(Make&& make) {
  try {
    return make();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Schedule) throw;
    return {};
  }
}

Answers not_about_loops(Answers answers) {
  std::erase_if(answers,
                [](const auto& answer) { return phase_of(answer.first.decision) == Phase::Loops; });
  return answers;
}

void dearest_first(const Prices& prices, std::vector<Offer>& offers) {
  std::ranges::stable_sort(offers, std::ranges::greater{}, [&](const Offer& offer) {
    const auto found = prices.stages.find(offer.subject.stage);
    return found == prices.stages.end() ? 0.0 : found->second;
  });
}

class Search {
 public:
  Search(const Graph& graph, const CpuMachine& machine) : graph_(graph), machine_(machine) {}

  /// The default schedule.
  const Priced& start() {
    if (const Priced* made = price({{}, ""})) return *made;
    // A move refuses it: what goes without that has no alternatives.
    const Program made = default_schedule(graph_, machine_);
    const size_t moves = std::hash<std::string>()(made.moves_json);
    const auto price = prices_.try_emplace(moves, prices_of(made, moves)).first;
    return made_[Answers{}].emplace(Priced{{{}, "", price->second.microseconds}, {}, moves});
  }

  /// Null when a move refuses the answers. The pointer stays valid.
  const Priced* price(const Wanted& wanted) {
    if (!is_made(wanted.answers)) price_all({wanted});
    const std::optional<Priced>& made = made_.at(wanted.answers);
    return made ? &*made : nullptr;
  }

  /// Several at once, on up to kMostThreads of the machine's cores: these change no result.
  void price_all(const std::vector<Wanted>& wanted) {
    std::vector<const Wanted*> missing;
    for (const Wanted& one : wanted)
      if (made_.try_emplace(one.answers).second) missing.push_back(&one);
    prepare(missing);
    const size_t threads = threads_for(missing.size());
    std::vector<Found> found(missing.size());
    in_parallel(missing.size(), threads, [&](size_t k, size_t thread) {
      found[k] = unless_refused<Found>(
          [&] { return priced(missing[k]->answers, missing[k]->changes, memories_[thread]); });
    });
    for (size_t k = 0; k < missing.size(); ++k) {
      if (!found[k].priced) continue;
      prices_.try_emplace(found[k].priced->moves, std::move(found[k].prices));
      made_[missing[k]->answers] = std::move(found[k].priced);
    }
  }

  /// The program of a candidate, or of the default schedule.
  Program program(const std::optional<Candidate>& candidate) {
    Choices choices(candidate ? candidate->answers : Answers{});
    try {
      return program(choices);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Schedule) throw;
    }
    return schedule_with(graph_, machine_, choices);
  }

  /// Whether no program before was the same; once.
  bool is_new(const Priced& priced) { return seen_.insert(priced.moves).second; }

  /// Answers that were priced or refused.
  bool is_made(const Answers& answers) const { return made_.contains(answers); }
  size_t made() const { return made_.size(); }

 private:
  // A program before its loops, what is planned for them, and what has been offered until then.
  struct Known {
    Program program;
    StagePlans plans;
    std::vector<Offer> offers;
  };
  struct Found {
    std::optional<Priced> priced;  // none: refused
    Prices prices;
  };
  using Memory = std::shared_ptr<TileMemory>;

  // How many threads so many programs take. Each has a memory of tiles, which starts with what the
  // first one has found so far.
  size_t threads_for(size_t wanted) {
    const size_t threads =
        std::min(wanted, static_cast<size_t>(std::clamp(machine_.cores, 1, kMostThreads)));
    while (memories_.size() < threads)
      memories_.push_back(std::make_shared<TileMemory>(*memories_.front()));
    return threads;
  }

  // Answers about loops leave everything before them as it is: that is made once.
  void prepare(const std::vector<const Wanted*>& wanted) {
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
  Found priced(const Answers& answers, const std::string& changes, const Memory& memory) const {
    const std::optional<Known>& known = prepared_.at(not_about_loops(answers));
    if (!known) return {};
    Choices choices(answers);
    choices.remember_tiles(memory);
    choices.go_on_from(known->offers);
    const Program made = with_loops(*known, choices);
    const size_t moves = std::hash<std::string>()(made.moves_json);
    Prices prices = prices_of(made, moves);
    Found found{Priced{{choices.answers(), changes, prices.microseconds}, choices.offers(), moves},
                std::move(prices)};
    dearest_first(found.prices, found.priced->offers);
    return found;
  }

  Program program(Choices& choices) {
    choices.remember_tiles(memories_.front());
    const auto known = prepared_.find(not_about_loops(choices.answers()));
    if (known == prepared_.end() || !known->second)
      return with_loops(before_loops(choices), choices);
    choices.go_on_from(known->second->offers);
    return with_loops(*known->second, choices);
  }

  Known before_loops(Choices& choices) const {
    Attempts sure;
    ScheduleContext context{machine_, choices, sure};
    Program start = start_of(graph_, context);
    Program program = run_passes(std::move(start), context, Phase::Stages, Phase::Layouts);
    return {std::move(program), std::move(context.plans), choices.offers()};
  }
  Program with_loops(const Known& known, Choices& choices) const {
    Attempts sure;
    ScheduleContext context{machine_, choices, sure, known.plans};
    return run_passes(known.program, context, Phase::Loops, Phase::Loops);
  }

  // Answers that change nothing give programs that were priced before.
  Prices prices_of(const Program& program, size_t moves) const {
    const auto before = prices_.find(moves);
    if (before != prices_.end()) return before->second;
    const ProgramCost cost = predict(program, machine_);
    Prices prices{cost.microseconds, {}};
    size_t next = 0;
    stage_costs(program, cost, "", next, prices.stages);
    return prices;
  }

  const Graph& graph_;
  const CpuMachine& machine_;
  std::map<Answers, std::optional<Priced>> made_;     // none: refused
  std::map<Answers, std::optional<Known>> prepared_;  // by answers that are not about loops
  std::unordered_map<size_t, Prices> prices_;         // by signature of moves
  std::set<size_t> seen_;                             // these, of what was found
  std::vector<Memory> memories_{std::make_shared<TileMemory>()};  // a thread's each
};

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

std::vector<Candidate> found_by(Search& search, const SearchOptions& options) {
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

// nullopt: the default schedule.
std::optional<Candidate> clearly_best(Search& search, const Graph& graph,
                                      const CpuMachine& machine) {
  const size_t programs =
      std::min(kMostPrograms, kStageSchedules / std::max<size_t>(stage_count(graph), 1));
  if (programs < kFewestPrograms || !CostNetwork::shipped_for(machine)) return std::nullopt;
  const std::vector<Candidate> found = found_by(search, {programs, 3, 2, fixed_decisions()});
  const bool clear =
      found.size() > 1 && found[1].microseconds * (1 + kMargin) < found[0].microseconds;
  return clear ? std::optional(found[1]) : std::nullopt;
}

// A GPU's schedule offers no alternatives yet.
std::vector<Candidate> default_alone(const Graph& graph, const GpuMachine& machine) {
  return {{{}, "", predict(default_schedule(graph, machine), machine).microseconds}};
}

}  // namespace

std::vector<Candidate> search(const Graph& graph, const Target& target,
                              const SearchOptions& options) {
  if (const auto* gpu = std::get_if<GpuMachine>(&target)) return default_alone(graph, *gpu);
  Search search(graph, cpu_of(target));
  return found_by(search, options);
}

std::optional<Candidate> choice(const Graph& graph, const Target& target) {
  if (std::holds_alternative<GpuMachine>(target)) return std::nullopt;
  Search search(graph, cpu_of(target));
  return clearly_best(search, graph, cpu_of(target));
}

Program chosen_schedule(const Graph& graph, const Target& target) {
  if (const auto* gpu = std::get_if<GpuMachine>(&target)) return default_schedule(graph, *gpu);
  Search search(graph, cpu_of(target));
  return search.program(clearly_best(search, graph, cpu_of(target)));
}

std::vector<Candidate> random_candidates(const Graph& graph, const Target& target, size_t count,
                                         uint64_t seed) {
  if (const auto* gpu = std::get_if<GpuMachine>(&target)) return default_alone(graph, *gpu);
  Search search(graph, cpu_of(target));
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
