// autosched/program/program.cpp -- the plainest legal program, and small accessors.
#include "autosched/program/program.hpp"

#include <algorithm>
#include <array>

#include "autosched/program/nests.hpp"
#include "runtime/expr/error.hpp"

namespace adjit::sched {

std::string_view name_of(LoopKind kind) {
  static constexpr std::array<std::string_view, 5> kNames{"serial", "parallel", "unrolled",
                                                          "vector", "thread"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view name_of(Scope scope) {
  static constexpr std::array<std::string_view, 4> kNames{"argument", "workspace", "local", "none"};
  return kNames[static_cast<size_t>(scope)];
}

Nest plain_nest(const LoweredGraph& graph, size_t stage, uint32_t& variable_count) {
  const Domain& domain = graph.stages[stage].domain;
  Nest nest;
  nest.stage = stage;
  nest.axis_base.assign(domain.rank(), Affine());
  nest.spans = domain.extents;
  const auto add = [&](size_t axis) {
    if (domain.extents[axis] != 1)
      nest.loops.push_back({axis, 1, domain.extents[axis], LoopKind::Serial, variable_count++});
  };
  const Running* running = running_of(graph, graph.stages[stage]);
  for (size_t axis = 0; axis < domain.rank(); ++axis)
    if (!running || axis != running->axis) add(axis);
  if (running) add(running->axis);
  return nest;
}

std::vector<std::string> fallbacks_of(const Program& program) {
  std::vector<std::string> found = program.fallbacks;
  for (const Kernel& kernel : program.kernels) {
    if (!kernel.steps) continue;
    const std::vector<std::string> inside = fallbacks_of(*kernel.steps);
    found.insert(found.end(), inside.begin(), inside.end());
  }
  return found;
}

size_t parallel_depth(const Nest& nest) {
  size_t depth = 0;
  while (depth < nest.loops.size() && nest.loops[depth].kind == LoopKind::Parallel) ++depth;
  return depth;
}

int64_t task_count(const Nest& nest) {
  int64_t tasks = 1;
  for (size_t l = 0; l < parallel_depth(nest); ++l) tasks *= nest.loops[l].trips;
  return tasks;
}

int64_t tasks_in_turn(const Program& program, const Nest& root) {
  const Stage& stage = program.graph.stages[root.stage];
  int64_t tasks = 1;
  bool waits = false;
  for (size_t l = 0; l < parallel_depth(root); ++l) {
    waits = waits || !is_independent(program.graph, stage, root.loops[l].axis);
    if (waits) tasks *= root.loops[l].trips;
  }
  return std::max<int64_t>(tasks, 1);  // of no tasks at all, too
}

bool in_tile(const Loop& loop) {
  return loop.kind == LoopKind::Unrolled || loop.kind == LoopKind::Vector;
}

size_t tile_begin(const Nest& nest) {
  size_t begin = nest.loops.size();
  while (begin > 0 && in_tile(nest.loops[begin - 1])) --begin;
  return begin;
}

}  // namespace adjit::sched
