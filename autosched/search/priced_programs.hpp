// autosched/search/priced_programs.hpp -- programs that other answers to a schedule's decisions
// make, each made and priced once.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "autosched/decisions/choices.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/program.hpp"
#include "autosched/search/search.hpp"

namespace adjit::sched {

struct Priced {
  Candidate candidate;
  std::vector<Offer> offers;  // those about the slowest kernels first
  size_t moves = 0;           // signature
};

/// The default schedule with some answers changed, and how that reads.
struct Wanted {
  Answers answers;
  std::string changes;
};

/// `from` with one more answer.
Wanted changed(const Priced& from, const Offer& offer, size_t option);

/// Of a program: microseconds in all, and of the kernel that each stage is in.
struct Prices {
  double microseconds = 0;
  std::unordered_map<std::string, double> stages;
};

/// What `make` gives; nothing for a combination of answers that one of the moves refuses.
template <class Result, class Make>
Result unless_refused(Make&& make) {
  try {
    return make();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Schedule) throw;
    return {};
  }
}

/// A machine's room says how: cpu_programs.hpp, gpu_programs.hpp.
class PricedPrograms {
 public:
  virtual ~PricedPrograms() = default;

  /// The default schedule.
  const Priced& start();
  /// Null when a move refuses the answers. The pointer stays valid.
  const Priced* price(const Wanted& wanted);
  /// Several at once.
  void price_all(const std::vector<Wanted>& wanted);
  /// The program of a candidate, or of the default schedule.
  Program program(const std::optional<Candidate>& candidate);

  /// Whether no program before was the same; once.
  bool is_new(const Priced& priced) { return seen_.insert(priced.moves).second; }
  /// Answers that were priced or refused.
  bool is_made(const Answers& answers) const { return made_.contains(answers); }
  size_t made() const { return made_.size(); }

 protected:
  explicit PricedPrograms(const Graph& graph) : graph_(graph) {}
  struct Found {
    std::optional<Priced> priced;  // none: refused
    Prices prices;
  };

  /// One for each.
  virtual std::vector<Found> make(const std::vector<const Wanted*>& wanted) = 0;
  /// ErrorCode::Schedule where a move refuses an answer.
  virtual Program made_with(Choices& choices) = 0;
  /// Whatever moves refuse.
  virtual Program made_with_fallbacks(Choices& choices) const = 0;
  virtual Prices prices_of(const Program& program) const = 0;

  /// Of a program that choices made. Answers that change nothing give programs that were priced
  /// before. May be called by several threads at once.
  Found found(const Program& made, const Choices& choices, const std::string& changes) const;
  const Graph& graph() const { return graph_; }

 private:
  const Graph& graph_;
  std::map<Answers, std::optional<Priced>> made_;  // none: refused
  std::unordered_map<size_t, Prices> prices_;      // by signature of moves
  std::set<size_t> seen_;                          // these, of what was found
};

namespace detail {
template <class Cost>
void add_stage_costs(const Program& program, const Cost& cost, const std::string& prefix,
                     size_t& next, std::unordered_map<std::string, double>& costs) {
  for (const Kernel& kernel : program.kernels) {
    const std::string& name = stage_name(program.graph, program.graph.stages[kernel.root.stage]);
    if (kernel.steps) {
      add_stage_costs(*kernel.steps, cost, prefix + name + "/", next, costs);
      continue;
    }
    const auto& entry = cost.kernels[next++];
    for_each_nest(kernel.root, [&](const Nest& nest) {
      costs[prefix + stage_name(program.graph, program.graph.stages[nest.stage])] =
          static_cast<double>(entry.calls) * entry.microseconds;
    });
  }
}
}  // namespace detail

/// From a machine's predicted cost. Stages are named as choices.hpp names subjects.
template <class Cost>
Prices prices_from(const Program& program, const Cost& cost) {
  Prices prices{cost.microseconds, {}};
  size_t next = 0;
  detail::add_stage_costs(program, cost, "", next, prices.stages);
  return prices;
}

}  // namespace adjit::sched
