// tests/autosched/gpu/nest_text.hpp -- the loops of a nest, a word each.
#pragma once

#include <string>
#include <string_view>

#include "autosched/program/nests.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/rooms.hpp"

namespace adjit::sched {

/// "parallel:i:5 thread:j:8 vector:j:4": kind, axis, trips.
inline std::string loops_text(const Program& program, size_t stage) {
  std::string text;
  const std::vector<std::string> axes = axis_names(program.graph.stages[stage]);
  for (const Loop& loop : nest_of(program, stage).loops)
    text += (text.empty() ? "" : " ") + std::string(name_of(loop.kind)) + ":" + axes[loop.axis] +
            ":" + std::to_string(loop.trips);
  return text;
}
inline std::string loops_text(const Program& program, std::string_view name) {
  return loops_text(program, stage_of(program, name));
}

}  // namespace adjit::sched
