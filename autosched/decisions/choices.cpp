// autosched/decisions/choices.cpp -- the decisions of a schedule by name.
#include "autosched/decisions/choices.hpp"

#include <algorithm>

#include "autosched/program/nests.hpp"

namespace adjit::sched {

std::string_view name_of(Decision decision) {
  switch (decision) {
    case Decision::Tile: return "tile";
    case Decision::PackedTile: return "tile if packed";
    case Decision::Pack: return "pack";
    case Decision::Pad: return "pad";
    case Decision::Split: return "split";
    case Decision::Merge: return "merge";
    case Decision::Transpose: return "transpose";
    case Decision::Residues: return "residues";
    case Decision::Attach: return "attach";
    case Decision::Rows: return "rows";
    case Decision::Siblings: return "siblings";
    case Decision::Tasks: return "tasks";
    case Decision::Order: return "order";
    case Decision::Stream: return "stream";
    case Decision::Share: return "share";
    case Decision::Blocks: return "blocks";
    case Decision::Fetch: return "fetch";
    case Decision::Epilogue: return "epilogue";
    case Decision::Passes: return "passes";
    case Decision::Strips: return "strips";
    case Decision::EarlyResults: return "early results";
    case Decision::Rematerialize: return "rematerialize";
  }
  return "";
}

bool is_about_loops(Decision decision) {
  switch (decision) {
    case Decision::Tile:
    case Decision::Tasks:
    case Decision::Order:
    case Decision::Stream:
    case Decision::Fetch:
    case Decision::Epilogue:
    case Decision::Passes:
    case Decision::Strips: return true;
    default: return false;
  }
}

bool Choices::keeps(Decision decision, const Graph& graph, const Stage& stage) {
  return pick(decision, graph, stage, [] { return std::vector<std::string>{"yes", "no"}; }) == 0;
}

bool Choices::asks(Decision decision, const std::string& stage) const {
  const auto found = answers_.find({decision, prefix_ + stage});
  return found != answers_.end() && found->second != 0;
}

size_t Choices::recorded(Decision decision, const Graph& graph, const Stage& stage,
                         std::vector<std::string> options) {
  Subject subject{decision, prefix_ + stage_name(graph, stage)};
  const auto found = answers_.find(subject);
  const size_t answer = found == answers_.end() ? 0 : found->second;
  const size_t taken = answer < options.size() ? answer : 0;
  const auto before = std::ranges::find(offers_, subject, &Offer::subject);
  if (before == offers_.end() && options.size() > 1)
    offers_.push_back({std::move(subject), std::move(options), taken});
  return taken;
}

Choices::Inside::Inside(Choices& choices, const std::string& scan)
    : choices_(choices), length_(choices.prefix_.size()) {
  choices_.prefix_ += scan + "/";
}
Choices::Inside::~Inside() { choices_.prefix_.resize(length_); }

}  // namespace adjit::sched
