// jit/engine/plan/memory_budget.cpp -- the search for a schedule that fits, and the refusal of a
// budget.
#include "jit/engine/plan/memory_budget.hpp"

#include <algorithm>
#include <string>

#include "autosched/passes/plan_rematerialization.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/search/scheduler.hpp"
#include "autosched/search/search.hpp"
#include "jit/engine/plan/arrangement.hpp"

namespace adjit::engine {
namespace {

constexpr int kAttempts = 8;

std::string described(const Graph& graph, const Stage& stage) {
  const std::string line = stage.lines.empty() ? "" : to_string(stage.lines.front());
  return "'" + stage_name(graph, stage) + "'" + (line.empty() ? "" : " (" + line + ")");
}

// The position of a program's kernels at which most lives, and what lives then, largest first.
struct Peak {
  size_t position = 0;
  int64_t bytes = 0;
  std::vector<Occupant> live;
};

Peak peak_of(const Arrangement& arrangement) {
  Peak peak;
  for (size_t position = 0; position < arrangement.order.size(); ++position) {
    int64_t bytes = 0;
    for (const Occupant& one : arrangement.occupants)
      if (one.life.first <= position && position <= one.life.last)
        bytes += aligned(one.life.bytes, arrangement.alignment);
    if (bytes <= peak.bytes) continue;
    peak.bytes = bytes;
    peak.position = position;
  }
  for (const Occupant& one : arrangement.occupants)
    if (one.life.first <= peak.position && peak.position <= one.life.last) peak.live.push_back(one);
  std::ranges::stable_sort(peak.live, std::ranges::greater{},
                           [](const Occupant& one) { return one.life.bytes; });
  return peak;
}

// What needs most while a kernel runs.
std::string peak_text(const Program& program, const Arrangement& arrangement) {
  constexpr size_t kNamed = 4;
  const Peak peak = peak_of(arrangement);
  const Graph& graph = program.graph;
  const Kernel& kernel = program.kernels[arrangement.order[peak.position]];
  std::string text = described(graph, graph.stages[kernel.root.stage]) + " needs " +
                     std::to_string(peak.bytes) + " while it runs";
  for (size_t k = 0; k < std::min(kNamed, peak.live.size()); ++k) {
    const Occupant& one = peak.live[k];
    const Stage& writer = graph.stages[program.kernels[one.kernel].root.stage];
    text += (k == 0 ? " (" : ", ") + std::to_string(one.life.bytes) + " of " +
            (one.tensor == UINT32_MAX ? "the steps of " + described(graph, writer)
                                      : "'" + graph.info(TensorId{one.tensor}).name + "'");
  }
  if (!peak.live.empty()) text += peak.live.size() > kNamed ? ", ...)" : ")";
  if (arrangement.slot_bytes > 0)
    text += ", besides " + std::to_string(arrangement.slot_bytes) + " for each of " +
            std::to_string(workers_of(program.target)) + " threads";
  return text;
}

// The largest of what lies in the threads' slots.
std::string slots_text(const Program& program, const Arrangement& arrangement) {
  const Graph& graph = program.graph;
  int64_t most = 0;
  std::string stage;
  for (const Stage& one : graph.stages)
    for (TensorId id : one.results) {
      const auto slot = arrangement.slots.find(id.value);
      if (slot == arrangement.slots.end() || slot->second.slice <= most) continue;
      most = slot->second.slice;
      stage = described(graph, one);
    }
  const std::string threads = std::to_string(workers_of(program.target)) + " threads";
  const std::string each = std::to_string(arrangement.slot_bytes) + " for each of " + threads;
  return (stage.empty() ? "the steps of a scan need " + each
                        : "kernels that run task by task need " + each + ", " +
                              std::to_string(most) + " of it for a task's part of " + stage);
}

}  // namespace

int64_t workspace_of(const Program& program) {
  const Arrangement arrangement = arrange(program);
  return checked_add(arrangement.bytes,
                     checked_mul(arrangement.slot_bytes, workers_of(program.target)));
}

Program schedule_within(const Graph& graph, const Target& target, int64_t budget) {
  Program best = chosen_schedule(graph, target);
  int64_t least = workspace_of(best);
  if (least <= budget) return best;
  const Rematerialization plan = rematerialization_of(graph, target);
  const size_t last = plan.steps.size() - 1;
  double scale = 1;  // what is measured, of what was estimated
  for (size_t step = 0;;) {
    Choices choices(answers_for(plan, plan.steps[step]));
    Program program = schedule_with(graph, target, choices);
    const int64_t bytes = workspace_of(program);
    if (bytes <= budget) return program;
    // What other budgets would come by, too.
    if ((step == 0 || step == last) && bytes < least) {
      least = bytes;
      best = std::move(program);
    }
    if (step == last) break;
    if (step > 0) {
      step = (step + last + 1) / 2;
      continue;
    }
    scale =
        static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(1, plan.steps[0].peak));
    for (step = 1; step < last; ++step)
      if (scale * static_cast<double>(plan.steps[step].peak) <= static_cast<double>(budget)) break;
  }
  refuse_workspace(best, budget);
}

void refuse_workspace(const Program& program, int64_t budget) {
  const Arrangement arrangement = arrange(program);
  const int64_t slots = checked_mul(arrangement.slot_bytes, workers_of(program.target));
  throw Error(ErrorCode::Schedule,
              "a memory budget of " + std::to_string(budget) + " bytes is not enough: " +
                  (slots > arrangement.bytes ? slots_text(program, arrangement)
                                             : peak_text(program, arrangement)) +
                  "; allow " + std::to_string(workspace_of(program)) +
                  " bytes or more, take smaller batches, or cut scans by checkpoint=");
}

}  // namespace adjit::engine
