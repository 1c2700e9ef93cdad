// autosched/passes/plan_rematerialization.cpp -- a timeline of stages, and what computing one of
// them twice does to it.
#include "autosched/passes/plan_rematerialization.hpp"

#include <algorithm>
#include <optional>

#include "autosched/analysis/work.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"

namespace adjit::sched {
namespace {

constexpr size_t kMostStages = 6;  // of a group that is computed again together
constexpr size_t kTried = 16;      // groups, by themselves
constexpr size_t kMostRounds = 200;
// What is aimed at first is a sixteenth less than the peak; where nothing is to be had of that,
// what does not lower the peak by itself.
constexpr int64_t kParts[] = {16, 4, 2};
constexpr size_t kAtOnce = 8;  // of the stages worth it, one in so many is taken in a round

// Of positions at which something is used, ascending, the first being where it is made: the use
// behind the longest pause between two later ones. nullopt: none lies behind another stage.
std::optional<size_t> use_after_pause(std::span<const size_t> uses) {
  std::optional<size_t> after;
  size_t longest = 1;
  for (size_t k = 2; k < uses.size(); ++k) {
    if (uses[k] - uses[k - 1] <= longest) continue;
    longest = uses[k] - uses[k - 1];
    after = uses[k];
  }
  return after;
}

bool may_be_again(const Program& program, const StageSet& planned, size_t s) {
  const Stage& stage = program.graph.stages[s];
  if (stage.kind != StageKind::Compute || planned.contains(stage_key(stage))) return false;
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
  uses.erase(std::ranges::unique(uses).begin(), uses.end());
  return use_after_pause(uses);
}

// Planned stages stand side by side, to share what stays in the caches.
Program in_order(Program program, const StageSet& planned) {
  return planned.empty() ? eager_outputs(std::move(program)) : program;
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
  std::vector<int64_t> bytes;             // per tensor
  std::vector<std::vector<size_t>> uses;  // per tensor: steps, ascending, where it is made first
  std::vector<int64_t> live;              // bytes, per step
  std::vector<size_t> copies;             // per stage: the step of its copy; SIZE_MAX: none

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
    look();
  }

  // Positions at which the results of a step are used.
  std::vector<size_t> uses_of(const Step& step) const {
    std::vector<size_t> all;
    for (uint32_t t : step.writes) all.insert(all.end(), uses[t].begin(), uses[t].end());
    std::ranges::sort(all);
    all.erase(std::ranges::unique(all).begin(), all.end());
    return all;
  }

  // Computes stages (ascending) a second time, the last ones first.
  void repeat(const std::vector<size_t>& stages) {
    for (size_t k = stages.size(); k-- > 0;) repeat(stages[k]);
    look();
  }

  // What lives beyond the aim, over all steps.
  double excess(int64_t aim) const {
    double sum = 0;
    for (int64_t bytes_now : live)
      sum += static_cast<double>(std::max<int64_t>(0, bytes_now - aim));
    return sum;
  }
  int64_t peak() const { return live.empty() ? 0 : std::ranges::max(live); }

 private:
  // The step of a stage that comes first is the original. Readers are looked for, since copies that
  // were made before read, too.
  void repeat(size_t stage) {
    const size_t at = stage;  // copies stand behind the originals of all stages before theirs
    std::vector<size_t> found{at};
    for (size_t s = at + 1; s < steps.size(); ++s)
      if (std::ranges::find_first_of(steps[s].reads, steps[at].writes) != steps[s].reads.end())
        found.push_back(s);
    const std::optional<size_t> from = use_after_pause(found);
    if (!from) return;
    Step again{steps[at].stage, steps[at].reads, {}, steps[at].whole};
    for (uint32_t tensor : steps[at].writes) {
      const auto copy = static_cast<uint32_t>(bytes.size());
      bool used = steps[at].whole;
      for (size_t s : found)
        if (s >= *from)
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

  void look() {
    uses.assign(bytes.size(), {});
    copies.assign(steps.size(), SIZE_MAX);
    std::vector<bool> seen(steps.size(), false);
    for (size_t s = 0; s < steps.size(); ++s) {
      if (seen[steps[s].stage]) copies[steps[s].stage] = s;
      seen[steps[s].stage] = true;
    }
    for (size_t s = 0; s < steps.size(); ++s) {
      for (uint32_t t : steps[s].writes) uses[t].push_back(s);
      for (uint32_t t : steps[s].reads) uses[t].push_back(s);
    }
    live.assign(steps.size() + 1, 0);
    for (size_t t = 0; t < uses.size(); ++t) {
      if (uses[t].empty()) continue;
      live[uses[t].front()] += bytes[t];
      live[uses[t].back() + 1] -= bytes[t];
    }
    for (size_t s = 1; s < live.size(); ++s) live[s] += live[s - 1];
    live.pop_back();
  }
};

class RematerializationPlanner {
 public:
  RematerializationPlanner(const Program& program, const StageSet& planned)
      : program_(program), start_(program), maker_(defining_stages(program.graph)) {
    WorkMeter meter(program.graph.pool);
    for (size_t s = 0; s < program.graph.stages.size(); ++s) {
      const Stage& stage = program.graph.stages[s];
      open_.push_back(may_be_again(program, planned, s));
      work_.push_back(open_.back() ? box_points(stage.domain) * (1 + meter(stage.bodies).cost) : 0);
    }
  }

  Rematerialization operator()() {
    Timeline now = start_;
    Rematerialization plan;
    plan.steps.push_back({0, now.peak()});
    for (size_t round = 0; round < kMostRounds; ++round) {
      std::optional<Timeline> next;
      // What is computed of copies makes these live longer: only where nothing else is left.
      for (through_copies_ = false; !next; through_copies_ = true) {
        for (int64_t part : kParts)
          if (!next) next = improved(now, now.peak() - std::max<int64_t>(now.peak() / part, 1));
        if (through_copies_) break;
      }
      if (!next) break;
      now = *std::move(next);
      if (now.peak() < plan.steps.back().peak) plan.steps.push_back({chosen_.size(), now.peak()});
    }
    for (size_t k = 0; k < plan.steps.back().stages; ++k)
      plan.stages.push_back(stage_name(program_.graph, program_.graph.stages[chosen_[k]]));
    return plan;
  }

 private:
  // Stages that are computed again together, and bytes spared for their work.
  struct Group {
    std::vector<size_t> stages;
    double gain = 0;
  };

  // With what spares most of what lives beyond the aim, if anything does: several groups at once,
  // or, where they spare nothing together, the first one that does by itself. Estimates are of each
  // group alone, and leave out what a copy changes of others.
  std::optional<Timeline> improved(const Timeline& now, int64_t aim) {
    std::vector<Group> worth = groups(now, aim);
    std::ranges::stable_sort(worth, std::ranges::greater{}, &Group::gain);
    const double before = now.excess(aim);
    for (size_t count = (worth.size() + kAtOnce - 1) / kAtOnce; count > 1; count /= 2)
      if (auto then = with_groups(std::span(worth).first(count), before, aim)) return then;
    for (size_t k = 0; k < std::min(kTried, worth.size()); ++k)
      if (auto then = with_groups(std::span(worth).subspan(k, 1), before, aim)) return then;
    return std::nullopt;
  }

  std::optional<Timeline> with_groups(std::span<const Group> groups, double before, int64_t aim) {
    std::vector<size_t> stages = chosen_;
    for (const Group& group : groups)
      for (size_t s : group.stages)  // groups may have some in common
        if (std::find(stages.begin() + static_cast<long>(chosen_.size()), stages.end(), s) ==
            stages.end())
          stages.push_back(s);
    Timeline then = with(stages);
    if (then.excess(aim) >= before) return std::nullopt;
    chosen_ = std::move(stages);
    for (size_t s : chosen_) open_[s] = false;
    return then;
  }

  Timeline with(std::vector<size_t> stages) const {
    std::ranges::sort(stages);
    Timeline timeline = start_;
    timeline.repeat(stages);
    return timeline;
  }

  // Bytes beyond the aim that come, or go, when so many more live in the steps (after, until].
  static double beyond(const Timeline& now, size_t after, size_t until, int64_t bytes,
                       int64_t aim) {
    double sum = 0;
    for (size_t s = after + 1; s <= until; ++s)
      sum += static_cast<double>(std::max<int64_t>(0, now.live[s] + bytes - aim) -
                                 std::max<int64_t>(0, now.live[s] - aim));
    return sum;
  }

  // Those that spare anything, each stage by itself, and with what it is computed from where that
  // would have to wait in its place.
  std::vector<Group> groups(const Timeline& now, int64_t aim) const {
    std::vector<Group> found;
    std::vector<bool> seen(open_.size(), false);
    for (const Step& step : now.steps) {
      if (!open_[step.stage] || seen[step.stage]) continue;
      seen[step.stage] = true;
      const std::vector<size_t> uses = now.uses_of(step);
      const std::optional<size_t> from = use_after_pause(uses);
      if (!from) continue;
      const size_t before = *(std::ranges::lower_bound(uses, *from) - 1);
      double spared = 0;
      for (uint32_t t : step.writes)
        if (now.uses[t].back() >= *from)
          spared -= beyond(now, before, *from - 1, -now.bytes[t], aim);
      if (spared > 0) add_groups(now, step, *from, spared, aim, found);
    }
    return found;
  }

  void add_groups(const Timeline& now, const Step& step, size_t from, double spared, int64_t aim,
                  std::vector<Group>& found) const {
    Group group{{step.stage}, 0};
    std::vector<uint32_t> waiting;   // operands that have to live until there
    std::vector<size_t> made_there;  // stages whose copies are wanted there
    const auto add_operands = [&](size_t of) {
      std::vector<size_t> open{of};
      while (!open.empty()) {
        const size_t stage = open.back();
        open.pop_back();
        for (uint32_t t : start_.steps[stage].reads) {
          if (now.uses[t].empty() || now.uses[t].back() >= from) continue;
          const size_t maker = maker_[t];
          const size_t copy = maker == SIZE_MAX || !through_copies_ ? SIZE_MAX : now.copies[maker];
          if (copy == SIZE_MAX) {
            if (std::ranges::find(waiting, t) == waiting.end()) waiting.push_back(t);
            continue;
          }
          if (std::ranges::find(made_there, maker) != made_there.end()) continue;
          made_there.push_back(maker);
          // It is made there, and waits for those that read it now; or it waits until there.
          const std::vector<uint32_t>& writes = now.steps[copy].writes;
          for (uint32_t again : writes)
            spared -= copy > from ? beyond(now, from - 1, copy - 1, now.bytes[again], aim)
                                  : beyond(now, std::min(from, now.uses[again].back()), from,
                                           now.bytes[again], aim);
          if (copy > from) open.push_back(maker);
        }
      }
    };
    add_operands(step.stage);
    std::optional<Group> best;
    while (true) {
      double gain = spared, work = 0;
      for (uint32_t t : waiting) gain -= beyond(now, now.uses[t].back(), from, now.bytes[t], aim);
      for (size_t s : group.stages) work += work_[s];
      group.gain = gain / work;
      if (group.gain > 0 && (!best || group.gain > best->gain)) best = group;
      // The operand that waits and can be computed again takes what it is computed from along.
      const auto next = std::ranges::find_if(waiting, [&](uint32_t t) {
        return maker_[t] != SIZE_MAX && open_[maker_[t]] &&
               std::ranges::find(group.stages, maker_[t]) == group.stages.end();
      });
      if (next == waiting.end() || group.stages.size() == kMostStages) break;
      const size_t maker = maker_[*next];
      waiting.erase(next);
      group.stages.push_back(maker);
      add_operands(maker);
    }
    if (best) found.push_back(*std::move(best));
  }

  const Program& program_;
  Timeline start_;
  std::vector<size_t> chosen_;
  std::vector<bool> open_;  // per stage: may be computed again, and is not yet
  std::vector<double> work_;
  std::vector<size_t> maker_;    // per tensor of the program
  bool through_copies_ = false;  // whether operands may be copies that are made for others
};

}  // namespace

Program rematerialize_stages(Program program, const StageSet& planned, const Choices& choices) {
  if (!choices.requests(Decision::EagerOutputs)) return program;
  program = in_order(std::move(program), planned);
  for (size_t s = program.graph.stages.size(); s-- > 0;) {
    if (!choices.requests(Decision::Rematerialize,
                          stage_name(program.graph, program.graph.stages[s])))
      continue;
    if (!may_be_again(program, planned, s)) continue;
    if (const std::optional<size_t> reader = reader_after_pause(program, s))
      program = rematerialize(std::move(program), s, *reader);
  }
  return program;
}

Rematerialization plan_rematerialization(const Program& program, const StageSet& planned) {
  const Program ordered = in_order(program, planned);
  return RematerializationPlanner(ordered, planned)();
}

Answers answers_for(const Rematerialization& plan, const Rematerialization::Step& step) {
  Answers answers{{{Decision::EagerOutputs, ""}, 1}};
  for (size_t k = 0; k < step.stages; ++k) answers[{Decision::Rematerialize, plan.stages[k]}] = 1;
  return answers;
}

}  // namespace adjit::sched
