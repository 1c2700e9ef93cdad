// autosched/decisions/choices.cpp -- the decisions of a schedule by name.
#include "autosched/decisions/choices.hpp"

#include <algorithm>
#include <array>

#include "autosched/program/nests.hpp"

namespace adjit::sched {

namespace {

struct Row {
  Decision decision;
  std::string_view name;
  Phase phase;
  bool searched;
};
constexpr std::array<Row, kDecisions> kRows{{
    {Decision::Tile, "tile", Phase::Loops, true},
    {Decision::PackedTile, "tile if packed", Phase::Layouts, true},
    {Decision::Pack, "pack", Phase::Layouts, false},
    {Decision::Pad, "pad", Phase::Layouts, false},
    {Decision::Rfactor, "rfactor", Phase::Layouts, true},
    {Decision::FuseAxes, "fuse axes", Phase::Layouts, false},
    {Decision::TransposeOutput, "transpose output", Phase::Layouts, false},
    {Decision::Residues, "residues", Phase::Layouts, false},
    {Decision::ComputeAt, "compute at", Phase::Layouts, true},
    {Decision::Interleave, "interleave", Phase::Layouts, true},
    {Decision::FuseSiblings, "fuse siblings", Phase::Stages, true},
    {Decision::Tasks, "tasks", Phase::Loops, false},
    {Decision::Order, "order", Phase::Loops, true},
    {Decision::Nontemporal, "nontemporal", Phase::Loops, true},
    {Decision::SharePairwise, "share pairwise", Phase::Stages, false},
    {Decision::TileFusion, "tile fusion", Phase::Stages, false},
    {Decision::Prefetch, "prefetch", Phase::Loops, false},
    {Decision::Epilogue, "epilogue", Phase::Loops, true},
    {Decision::OuterReduction, "outer reduction", Phase::Loops, false},
    {Decision::StripMine, "strip-mine", Phase::Loops, false},
    {Decision::SplitPrefix, "split prefix", Phase::Layouts, true},
    {Decision::Invert, "invert", Phase::Stages, true},
    {Decision::BlockThreads, "threads of a block", Phase::Loops, true},
    {Decision::ThreadLanes, "lanes of a thread", Phase::Loops, true},
    {Decision::EagerOutputs, "eager outputs", Phase::Layouts, true},
    {Decision::Rematerialize, "rematerialize", Phase::Layouts, true},
}};

constexpr bool in_order() {
  for (size_t k = 0; k < kRows.size(); ++k)
    if (static_cast<size_t>(kRows[k].decision) != k) return false;
  return true;
}
static_assert(in_order(), "one row a decision, in the order of the enumeration");

const Row& row_of(Decision decision) { return kRows[static_cast<size_t>(decision)]; }

}  // namespace

std::string_view name_of(Decision decision) { return row_of(decision).name; }
Phase phase_of(Decision decision) { return row_of(decision).phase; }

std::vector<Decision> fixed_decisions() {
  std::vector<Decision> fixed;
  for (const Row& row : kRows)
    if (!row.searched) fixed.push_back(row.decision);
  return fixed;
}

void Choices::require_allowed(Decision decision) const {
  invariant(allowed_[static_cast<size_t>(decision)],
            "a pass asks a decision that is not in its row of the list of passes");
}

Choices::Only::Only(Choices& choices, const std::vector<Decision>& decisions)
    : choices_(choices), before_(choices.allowed_) {
  choices_.allowed_.reset();
  for (Decision decision : decisions) choices_.allowed_.set(static_cast<size_t>(decision));
}

bool Choices::keeps(Decision decision, const Graph& graph, const Stage& stage) {
  return pick(decision, graph, stage, [] { return std::vector<std::string>{"yes", "no"}; }) == 0;
}

bool Choices::requests(Decision decision, const std::string& stage) const {
  require_allowed(decision);
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
