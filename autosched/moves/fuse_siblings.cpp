// autosched/moves/fuse_siblings.cpp -- one pass for several stages over the same points.
#include <algorithm>
#include <queue>

#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/graph_edit.hpp"

namespace adjit::sched {
namespace {

// The order of stages in which every reader follows what it reads, as close to the present one as
// that allows. Empty when there is none.
std::vector<size_t> topological_order(const Program& program) {
  const std::vector<Stage>& stages = program.graph.stages;
  std::vector<size_t> waiting(stages.size(), 0);
  for (const Stage& stage : stages)
    for (TensorId id : stage.results)
      for (size_t reader : program.readers[id.value]) ++waiting[reader];
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t s = 0; s < stages.size(); ++s)
    if (waiting[s] == 0) ready.push(s);
  std::vector<size_t> order;
  while (!ready.empty()) {
    const size_t s = ready.top();
    ready.pop();
    order.push_back(s);
    for (TensorId id : stages[s].results)
      for (size_t reader : program.readers[id.value])
        if (--waiting[reader] == 0) ready.push(reader);
  }
  if (order.size() != stages.size()) order.clear();
  return order;
}

void check(const Move& move, const Stage& first) {
  const Stage& stage = move.stage_ref();
  move.require(stage.kind == StageKind::Compute && !running_of(move.program.graph, stage) &&
                   combines_each(stage.combiner),
               "only stages whose results are combined each by itself can share a pass");
  move.require(stage.combiner.kind == first.combiner.kind, "the combiners differ");
  move.require(stage.domain == first.domain, "the domains differ");
}

}  // namespace

bool combines_each(const Combiner& combiner) {
  return combiner.kind == CombinerKind::None || has_partial_results(combiner.kind);
}

Program fuse_siblings(Program program, std::span<const size_t> stages) {
  std::vector<size_t> group(stages.begin(), stages.end());
  std::ranges::sort(group);
  if (group.size() < 2 || std::ranges::adjacent_find(group) != group.end())
    throw Error(ErrorCode::Schedule, "fuse_siblings: needs two or more distinct stages");
  Json names = Json::array();
  for (size_t s : group) {
    const Move move = begin_move("fuse_siblings", program, s);
    check(move, program.graph.stages[group.front()]);
    names.push_back(stage_name(program.graph, move.stage_ref()));
  }
  const Move move = begin_move("fuse_siblings", program, group.front());
  for (const Kernel& kernel : program.kernels)
    move.require(kernel.root.attached.empty(), "fuse siblings before attaching stages to others");
  Stage& last = program.graph.stages[group.back()];
  Stage fused = program.graph.stages[group.front()];
  for (size_t k = 1; k < group.size(); ++k) {
    const Stage& stage = program.graph.stages[group[k]];
    fused.results.insert(fused.results.end(), stage.results.begin(), stage.results.end());
    fused.bodies.insert(fused.bodies.end(), stage.bodies.begin(), stage.bodies.end());
    fused.lines.insert(fused.lines.end(), stage.lines.begin(), stage.lines.end());
  }
  const std::vector<Scope> scopes = program.scopes;
  last = std::move(fused);
  group.pop_back();
  remove_stages(program, group);
  program.scopes = scopes;
  const std::vector<size_t> order = topological_order(program);
  if (order.empty())
    throw Error(ErrorCode::Schedule, "fuse_siblings: one of the stages depends on another");
  sort_stages(program, order);
  for (Kernel& kernel : program.kernels) {
    const bool is_fused = stage_name(program.graph, program.graph.stages[kernel.root.stage]) ==
                          names[0].get<std::string>();
    if (!is_fused) continue;
    kernel.variable_count = 0;
    kernel.root = plain_nest(program.graph, kernel.root.stage, kernel.variable_count);
  }
  append_move(program, {{"move", "fuse_siblings"}, {"stages", std::move(names)}});
  return program;
}

}  // namespace adjit::sched
