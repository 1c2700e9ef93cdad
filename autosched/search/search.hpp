// autosched/search/search.hpp -- other answers to the decisions of a schedule, priced by the cost
// model.
//
// A beam over answers: the first level is the default schedule, each further level changes one more
// answer of the cheapest programs before it, those about the slowest kernels first. The budget is a
// number of programs, not a time: the same graph, target and budget always give the same result.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "autosched/decisions/choices.hpp"
#include "autosched/machine/target.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// The default schedule with some answers changed.
struct Candidate {
  Answers answers;          // none: the default schedule
  std::string changes;      // in words: "tile of C: 8 i x 4x16 j instead of 12 i x 2x16 j"
  double microseconds = 0;  // predicted
};

struct SearchOptions {
  size_t programs = 64;           // that are made and priced
  size_t beam = 3;                // kept from level to level
  size_t levels = 3;              // answers changed at most
  std::vector<Decision> fixed{};  // that are left as they are
};

/// What a search has priced: first the default schedule, then the others by predicted time; equal
/// programs once.
std::vector<Candidate> search(const Graph& graph, const Target& target,
                              const SearchOptions& options);

/// What compiling takes in place of the default schedule: the best that a short search finds, where
/// that is predicted to be faster by more than the model's usual error. The budget falls with the
/// number of stages: large graphs are not searched at all, nor is anything for targets that the
/// model was not trained on.
std::optional<Candidate> choice(const Graph& graph, const Target& target);
/// The program of that, or of the default schedule where there is none.
Program chosen_schedule(const Graph& graph, const Target& target);

/// `count` candidates with one to three answers each drawn from `seed`, after the default schedule;
/// fewer when there are no more. Deterministic.
std::vector<Candidate> random_candidates(const Graph& graph, const Target& target, size_t count,
                                         uint64_t seed);

/// The program of a candidate.
Program program_of(const Graph& graph, const Target& target, const Candidate& candidate);

}  // namespace adjit::sched
