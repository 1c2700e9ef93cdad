// autosched/rematerialization.cpp -- a timeline of stages, and what repeating one of them does to
// it.
#include "autosched/rematerialization.hpp"

#include <algorithm>
#include <optional>

#include "autosched/moves.hpp"
#include "autosched/nests.hpp"
#include "autosched/work.hpp"

namespace adjit {
namespace {

constexpr int64_t kFewBytes = 1024;  // not worth another computation

// Of positions at which something is used, ascending, the first being where it is made: the use
// behind the longest pause. nullopt: none lies behind another stage.
std::optional<size_t> use_after_pause(std::span<const size_t> uses) {
  std::optional<size_t> after;
  size_t longest = 1;
  for (size_t k = 1; k < uses.size(); ++k) {
    if (uses[k] - uses[k - 1] <= longest) continue;
    longest = uses[k] - uses[k - 1];
    after = uses[k];
  }
  return after;
}

bool may_be_again(const Program& program, const ReductionPlans& plans, size_t s) {
  const Stage& stage = program.graph.stages[s];
  if (stage.kind != StageKind::Compute || plans.contains(stage.results.front().value)) return false;
  for (TensorId id : stage.results) {
    if (program.scopes[id.value] != Scope::Workspace) return false;
    for (size_t reader : program.readers[id.value])
      if (program.graph.stages[reader].initial == id) return false;
  }
  return true;
}

std::optional<size_t> reader_after_pause(const Program& program, size_t s) {
  std::vector<size_t> uses{s};
  for (TensorId id : program.graph.stages[s].results)
    uses.insert(uses.end(), program.readers[id.value].begin(), program.readers[id.value].end());
  std::ranges::sort(uses);
  return use_after_pause(uses);
}

struct Step {
  size_t stage = 0;  // of the program
  std::vector<uint32_t> reads, writes;
  bool whole = false;  // computes all of its results or none
};

// The stages in order, with the workspace tensors that they use: rematerialize_stages without
// expressions.
struct Timeline {
  std::vector<Step> steps;
  std::vector<int64_t> bytes;  // per tensor

  explicit Timeline(const Program& program) {
    const Graph& graph = program.graph;
    const auto kept = [&](TensorId id) { return program.scopes[id.value] == Scope::Workspace; };
    for (const TensorInfo& info : graph.tensors)
      bytes.push_back(checked_mul(info.element_count(), static_cast<int64_t>(size_of(info.dtype))));
    for (size_t s = 0; s < graph.stages.size(); ++s) {
      Step step{s, {}, {}, !combines_each(graph.stages[s].combiner)};
      for (TensorId id : tensors_read(graph, graph.stages[s]))
        if (kept(id)) step.reads.push_back(id.value);
      for (TensorId id : graph.stages[s].results)
        if (kept(id)) step.writes.push_back(id.value);
      steps.push_back(std::move(step));
    }
  }

  bool reads(size_t at, uint32_t tensor) const {
    return std::ranges::find(steps[at].reads, tensor) != steps[at].reads.end();
  }

  void repeat(size_t at) {
    std::vector<size_t> uses{at};
    for (size_t s = at + 1; s < steps.size(); ++s)
      if (std::ranges::any_of(steps[at].writes, [&](uint32_t t) { return reads(s, t); }))
        uses.push_back(s);
    const std::optional<size_t> from = use_after_pause(uses);
    if (!from) return;
    Step again{steps[at].stage, steps[at].reads, {}, steps[at].whole};
    for (uint32_t tensor : steps[at].writes) {
      const auto copy = static_cast<uint32_t>(bytes.size());
      bool used = steps[at].whole;
      for (size_t s = *from; s < steps.size(); ++s)
        for (uint32_t& read : steps[s].reads)
          if (read == tensor) {
            read = copy;
            used = true;
          }
      if (!used) continue;
      bytes.push_back(bytes[tensor]);
      again.writes.push_back(copy);
    }
    steps.insert(steps.begin() + static_cast<long>(*from), std::move(again));
  }

  // First and last step of each tensor that is in memory.
  std::vector<std::pair<size_t, size_t>> lives() const {
    std::vector<std::pair<size_t, size_t>> lives(bytes.size(), {SIZE_MAX, 0});
    for (size_t s = 0; s < steps.size(); ++s)
      for (const std::vector<uint32_t>* used : {&steps[s].reads, &steps[s].writes})
        for (uint32_t t : *used) lives[t] = {std::min(lives[t].first, s), s};
    return lives;
  }

  std::vector<int64_t> live_bytes() const {
    std::vector<int64_t> change(steps.size() + 1, 0);
    const auto all = lives();
    for (size_t t = 0; t < all.size(); ++t) {
      if (all[t].first == SIZE_MAX) continue;
      change[all[t].first] += bytes[t];
      change[all[t].second + 1] -= bytes[t];
    }
    for (size_t s = 1; s < change.size(); ++s) change[s] += change[s - 1];
    change.pop_back();
    return change;
  }

  // What lives beyond the aim, over all steps.
  double excess(int64_t aim) const {
    double sum = 0;
    for (int64_t live : live_bytes()) sum += static_cast<double>(std::max<int64_t>(0, live - aim));
    return sum;
  }
};

class Rematerialization {
 public:
  Rematerialization(const Program& program, const ReductionPlans& plans, int64_t aim)
      : start_(program),
        aim_(aim),
        chosen_(program.graph.stages.size(), false),
        maker_(defining_stages(program.graph)) {
    WorkMeter meter(program.graph.pool);
    for (size_t s = 0; s < chosen_.size(); ++s) {
      const Stage& stage = program.graph.stages[s];
      may_.push_back(may_be_again(program, plans, s));
      work_.push_back(may_.back() ? box_points(stage.domain) * (1 + meter(stage.bodies).cost) : 0);
    }
  }

  // Per stage.
  std::vector<bool> operator()() {
    double excess = start_.excess(aim_);
    while (excess > 0) {
      std::vector<size_t> best;
      double most = 0, left = excess;
      for (const std::vector<size_t>& group : candidates(with({}))) {
        const double then = with(group).excess(aim_);
        double work = 0;
        for (size_t s : group) work += work_[s];
        if ((excess - then) / work <= most) continue;
        most = (excess - then) / work;
        best = group;
        left = then;
      }
      if (best.empty()) break;
      for (size_t s : best) chosen_[s] = true;
      excess = left;
    }
    return chosen_;
  }

 private:
  // What is chosen, and these.
  Timeline with(const std::vector<size_t>& more) const {
    std::vector<bool> again = chosen_;
    for (size_t s : more) again[s] = true;
    Timeline timeline = start_;
    for (size_t s = again.size(); s-- > 0;)
      if (again[s]) timeline.repeat(s);
    return timeline;
  }

  // Stages not chosen yet whose results wait while most memory is in use: each by itself, and with
  // what it is computed from, which would have to wait in its place.
  std::vector<std::vector<size_t>> candidates(const Timeline& timeline) const {
    constexpr size_t kMostStages = 6;  // of a group
    const std::vector<int64_t> live = timeline.live_bytes();
    const auto peak = static_cast<size_t>(std::ranges::max_element(live) - live.begin());
    const auto lives = timeline.lives();
    const auto waits = [&](uint32_t t) {
      return lives[t].first < peak && lives[t].second > peak && !timeline.reads(peak, t);
    };
    std::vector<std::vector<size_t>> found;
    for (size_t at = 0; at < peak; ++at) {
      const Step& step = timeline.steps[at];
      if (!is_open(step.stage)) continue;
      if (std::ranges::none_of(
              step.writes, [&](uint32_t t) { return timeline.bytes[t] >= kFewBytes && waits(t); }))
        continue;
      std::vector<size_t> group{step.stage};
      found.push_back(group);
      for (size_t k = 0; k < group.size() && group.size() < kMostStages; ++k) {
        const size_t before = group.size();
        for (uint32_t read : start_.steps[group[k]].reads) {
          const size_t maker = maker_[read];
          if (maker == SIZE_MAX || waits(read) || !is_open(maker)) continue;
          if (std::ranges::find(group, maker) == group.end()) group.push_back(maker);
        }
        if (group.size() > before) found.push_back(group);
      }
    }
    return found;
  }

  bool is_open(size_t stage) const { return may_[stage] && !chosen_[stage]; }

  Timeline start_;
  int64_t aim_;
  std::vector<bool> chosen_, may_;
  std::vector<double> work_;
  std::vector<size_t> maker_;  // per tensor of the program
};

// Stages with plans stand side by side, to share what stays in the caches.
Program in_order(Program program, const ReductionPlans& plans) {
  return plans.empty() ? early_results(std::move(program)) : program;
}

}  // namespace

Program rematerialize_stages(Program program, const ReductionPlans& plans, const Choices& choices) {
  if (!choices.asks(Decision::EarlyResults)) return program;
  program = in_order(std::move(program), plans);
  for (size_t s = program.graph.stages.size(); s-- > 0;) {
    if (!choices.asks(Decision::Rematerialize, stage_name(program.graph, program.graph.stages[s])))
      continue;
    if (!may_be_again(program, plans, s)) continue;
    if (const std::optional<size_t> reader = reader_after_pause(program, s))
      program = rematerialize(std::move(program), s, *reader);
  }
  return program;
}

Answers rematerialized_within(const Program& usual, const ReductionPlans& plans, int64_t bytes) {
  const Program program = in_order(usual, plans);
  const std::vector<bool> chosen = Rematerialization(program, plans, bytes)();
  Answers answers{{{Decision::EarlyResults, ""}, 1}};
  for (size_t s = 0; s < chosen.size(); ++s)
    if (chosen[s])
      answers[{Decision::Rematerialize, stage_name(program.graph, program.graph.stages[s])}] = 1;
  return answers;
}

}  // namespace adjit
