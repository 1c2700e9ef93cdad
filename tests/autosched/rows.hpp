// tests/autosched/rows.hpp -- what the tests of rows in blocks ask of a program.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include "autosched/analysis/task_chains.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {

/// The tensor of that name.
inline TensorId tensor_named(const Program& p, const std::string& name) {
  for (uint32_t t = 0; t < p.graph.tensors.size(); ++t)
    if (p.graph.tensors[t].name == name) return TensorId{t};
  throw std::runtime_error(name);
}

/// How many moves of that name made the program.
inline size_t count_moves(const Program& p, const std::string& name) {
  size_t count = 0;
  for (size_t at = 0; (at = p.moves_json.find("\"" + name + "\"", at)) != std::string::npos; ++at)
    ++count;
  return count;
}

/// Results of so many elements or more that exist as a whole.
inline size_t whole_scores(const Program& p, int64_t elements) {
  const TaskChains chains = task_chains(p);
  const std::vector<size_t> in_place = stages_in_place(p);
  size_t count = 0;
  for (size_t s = 0; s < p.graph.stages.size(); ++s)
    for (TensorId id : p.graph.stages[s].results)
      count += p.scopes[id.value] == Scope::Workspace && chains.slices[id.value] == 0 &&
               !std::ranges::binary_search(in_place, s) &&
               p.graph.info(id).element_count() >= elements;
  return count;
}

}  // namespace adjit::sched
