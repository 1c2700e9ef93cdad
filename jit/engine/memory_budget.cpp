// jit/engine/memory_budget.cpp -- the search for a schedule that fits, and the refusal of a budget.
#include "jit/engine/memory_budget.hpp"

#include <algorithm>
#include <string>

#include "autosched/heuristic.hpp"
#include "autosched/nests.hpp"
#include "autosched/rematerialization.hpp"
#include "autosched/search.hpp"
#include "jit/engine/arrangement.hpp"

namespace adjit {
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
      if (one.life.first <= position && position <= one.life.last) bytes += aligned(one.life.bytes);
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

}  // namespace

int64_t workspace_of(const Program& program) {
  const Arrangement arrangement = arrange(program);
  return checked_add(arrangement.bytes, checked_mul(arrangement.slot_bytes, program.cores));
}

Program schedule_within(const Graph& graph, const Target& target, int64_t budget) {
  Program best = chosen_schedule(graph, target);
  int64_t least = workspace_of(best);
  if (least <= budget) return best;
  Choices usual;
  const Prepared prepared = prepare_stages(graph, target, usual);
  Answers before;
  int64_t aim = budget;
  for (int attempt = 0; attempt < kAttempts && aim > 0; ++attempt) {
    Answers answers = rematerialized_within(prepared.program, prepared.plans, aim);
    int64_t over = 1;
    if (answers != before) {
      Choices choices(answers);
      Program program = schedule_with(graph, target, choices);
      const int64_t bytes = workspace_of(program);
      if (bytes <= budget) return program;
      over = bytes - budget;
      before = std::move(answers);
      if (bytes < least) {
        least = bytes;
        best = std::move(program);
      }
    }
    aim -= std::max(over, budget / kAttempts);
  }
  refuse_workspace(best, budget);
}

void refuse_workspace(const Program& program, int64_t budget) {
  constexpr size_t kNamed = 4;
  const Arrangement arrangement = arrange(program);
  const Peak peak = peak_of(arrangement);
  const Graph& graph = program.graph;
  const Kernel& kernel = program.kernels[arrangement.order[peak.position]];
  std::string text = "a memory budget of " + std::to_string(budget) +
                     " bytes is not enough: " + described(graph, graph.stages[kernel.root.stage]) +
                     " needs " + std::to_string(peak.bytes) + " while it runs";
  for (size_t k = 0; k < std::min(kNamed, peak.live.size()); ++k) {
    const Occupant& one = peak.live[k];
    const Stage& writer = graph.stages[program.kernels[one.kernel].root.stage];
    text += (k == 0 ? " (" : ", ") + std::to_string(one.life.bytes) + " of " +
            (one.tensor == UINT32_MAX ? "the steps of " + described(graph, writer)
                                      : "'" + graph.info(TensorId{one.tensor}).name + "'");
  }
  if (!peak.live.empty()) text += peak.live.size() > kNamed ? ", ...)" : ")";
  if (arrangement.slot_bytes > 0)
    text += ", and " + std::to_string(arrangement.slot_bytes) + " for each of " +
            std::to_string(program.cores) + " threads";
  throw Error(ErrorCode::Schedule,
              text + "; allow " + std::to_string(workspace_of(program)) +
                  " bytes or more, take smaller batches, or cut scans by checkpoint=");
}

}  // namespace adjit
