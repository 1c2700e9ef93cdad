// autosched/moves/scatter/start.hpp -- what a scatter starts from.
#pragma once

#include <cstddef>
#include <optional>

#include "autosched/program/program.hpp"

namespace adjit::sched {

/// A stage that only fills what a scatter starts from with a constant.
struct Fill {
  size_t stage = 0;
  ExprId value;
};
/// One that a kernel of its own runs for this scatter alone, with what its combiner adds nothing to
/// or, where only the last point counts, with any constant. nullopt: it starts from more than that.
std::optional<Fill> fill_of_start(const Program& program, const Stage& scatter);

/// A stage like a scatter that computes a tensor of these extents; its bodies are the scatter's
/// still.
Stage computing(const Stage& scatter, std::vector<int64_t> extents);

}  // namespace adjit::sched
