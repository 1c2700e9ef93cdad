// autosched/search/explain.hpp -- predicted costs as text for people.
#pragma once

#include <string>

#include "autosched/cpu/cost/cost.hpp"
#include "autosched/gpu/cost/cost.hpp"
#include "autosched/search/search.hpp"

namespace adjit::sched {

/// One line a kernel, and one a nest in it with its terms, the largest first; terms below a
/// hundredth of the nest's time are left out. Microseconds.
std::string print(const ProgramCost& cost, const CpuMachine& machine);
/// One line a kernel, with its terms.
std::string print(const GpuProgramCost& cost, const GpuMachine& machine);

/// What compiling takes instead of the default schedule, in a line.
std::string print_choice(const Candidate& chosen, const Candidate& by_default);

/// The best candidates of a search that are not the default schedule, the first one: at most `most`
/// lines with their predicted microseconds, the difference and what they do otherwise.
std::string print_rejected(const std::vector<Candidate>& candidates, size_t most);

}  // namespace adjit::sched
