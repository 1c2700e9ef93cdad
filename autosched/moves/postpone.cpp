// autosched/moves/postpone.cpp -- a kernel put behind another, so that it can be its host.
#include <vector>

#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {
namespace {

// The stage of the root of each stage's kernel, or SIZE_MAX.
std::vector<size_t> roots_of(const Program& program) {
  std::vector<size_t> root(program.graph.stages.size(), SIZE_MAX);
  for (const Kernel& kernel : program.kernels)
    for_each_nest(kernel.root, [&](const Nest& nest) { root[nest.stage] = kernel.root.stage; });
  return root;
}

// Which kernels need what that of a stage computes, by the stages of their roots; itself, too.
std::vector<bool> kernels_that_need(const Program& program, const std::vector<size_t>& root,
                                    size_t stage) {
  std::vector<bool> need(root.size(), false);
  need[stage] = true;
  for (const Kernel& kernel : program.kernels) {
    if (!need[kernel.root.stage]) continue;
    for_each_nest(kernel.root, [&](const Nest& nest) {
      for (TensorId id : program.graph.stages[nest.stage].results)
        for (size_t reader : program.readers[id.value]) {
          invariant(root[reader] != SIZE_MAX, "a stage that reads another is in no kernel");
          need[root[reader]] = true;
        }
    });
  }
  return need;
}

}  // namespace

Program postpone(Program program, size_t stage, size_t other) {
  const Move move = begin_move("postpone", program, stage);
  move.require(move.path().steps.empty(), "it is attached to another");
  move.require(other < program.graph.stages.size(), "there is no such stage");
  const std::optional<NestPath> behind = find_nest(program, other);
  move.require(behind && behind->steps.empty(), "the other is no kernel's root");
  move.require(stage < other, "it stands behind the other already");
  const std::vector<size_t> root = roots_of(program);
  const std::vector<bool> need = kernels_that_need(program, root, stage);
  move.require(!need[other], "the other needs it");
  std::vector<size_t> order;
  const auto place = [&](size_t r) { return r > other ? 2 : need[r] ? 1 : 0; };
  for (const int part : {0, 1, 2})
    for (size_t s = 0; s < root.size(); ++s)
      if (place(root[s]) == part) order.push_back(s);
  Json entry{{"move", "postpone"}, {"stage", stage_name(program.graph, move.stage_ref())}};
  entry["other"] = stage_name(program.graph, program.graph.stages[other]);
  sort_stages(program, order);
  append_move(program, entry);
  return program;
}

}  // namespace adjit::sched
