// autosched/program/nests.cpp -- finding nests and loops in a program.
#include "autosched/program/nests.hpp"

#include "autosched/program/graph_edit.hpp"
#include "autosched/program/points.hpp"
#include "autosched/program/segments.hpp"
#include "autosched/program/threads.hpp"
#include "autosched/program/winners.hpp"
#include "runtime/graph/index_map.hpp"

#include <algorithm>
#include <utility>

namespace adjit::sched {
namespace {

bool find_below(const Nest& nest, size_t stage, std::vector<size_t>& steps) {
  if (nest.stage == stage) return true;
  for (size_t k = 0; k < nest.attached.size(); ++k) {
    steps.push_back(k);
    if (find_below(nest.attached[k].nest, stage, steps)) return true;
    steps.pop_back();
  }
  return false;
}

// Replaces `variable` by itself + `outer` wherever regions below the nest are placed by it.
void split_variable(Nest& nest, uint32_t variable, uint32_t outer) {
  for (Nest::Attached& attached : nest.attached)
    for_each_nest(attached.nest, [&](Nest& below) {
      for (Affine& base : below.axis_base)
        if (const int64_t scale = base.coefficient(variable); scale != 0)
          base += Affine::variable(outer, scale);
    });
}

}  // namespace

const std::string& stage_name(const Graph& graph, const Stage& stage) {
  invariant(!stage.results.empty(), "a stage without results");
  return graph.info(stage.results.front()).name;
}

void index_readers(Program& program) {
  const Graph& graph = program.graph;
  program.readers.assign(graph.tensors.size(), {});
  // One visit mark per expression instead of a set per stage: linear in the bodies.
  std::vector<uint32_t> visited(graph.pool.size(), UINT32_MAX);
  std::vector<ExprId> stack;
  for (uint32_t s = 0; s < graph.stages.size(); ++s) {
    const auto add = [&](TensorId tensor) {
      std::vector<size_t>& readers = program.readers[tensor.value];
      if (readers.empty() || readers.back() != s) readers.push_back(s);
    };
    const Stage& stage = graph.stages[s];
    for (TensorId operand : stage.operands) add(operand);
    if (stage.initial.valid()) add(stage.initial);
    stack = stage.bodies;
    stack.insert(stack.end(), stage.target.begin(), stage.target.end());
    while (!stack.empty()) {
      const ExprId id = stack.back();
      stack.pop_back();
      if (std::exchange(visited[id.value], s) == s) continue;
      if (graph.pool.is(id, Op::Read)) add(graph.pool.read_tensor(id));
      for (ExprId operand : graph.pool.operands(id)) stack.push_back(operand);
    }
  }
}

std::optional<NestPath> find_nest(const Program& program, size_t stage) {
  const auto root = std::ranges::lower_bound(program.kernels, stage, {},
                                             [](const Kernel& k) { return k.root.stage; });
  const size_t first = static_cast<size_t>(root - program.kernels.begin());
  if (root != program.kernels.end() && root->root.stage == stage) return NestPath{first, {}};
  // A producer stands before its hosts: only later kernels can hold it.
  for (size_t k = first; k < program.kernels.size(); ++k) {
    NestPath path{k, {}};
    if (find_below(program.kernels[k].root, stage, path.steps)) return path;
  }
  return std::nullopt;
}

const Nest& nest_at(const Program& program, const NestPath& path) {
  const Nest* nest = &program.kernels[path.kernel].root;
  for (size_t step : path.steps) nest = &nest->attached[step].nest;
  return *nest;
}

const Nest& nest_of(const Program& program, size_t stage) {
  return nest_at(program, *find_nest(program, stage));
}

bool is_alone(const Program& program, size_t stage) {
  const std::optional<NestPath> path = find_nest(program, stage);
  return path && path->steps.empty() && nest_at(program, *path).attached.empty();
}

bool is_plain_kernel(const Program& program, size_t stage) {
  return is_alone(program, stage) &&
         std::ranges::all_of(nest_of(program, stage).loops, [](const Loop& loop) {
           return loop.kind == LoopKind::Serial && loop.step == 1;
         });
}

Nest& nest_at(Program& program, const NestPath& path) {
  return const_cast<Nest&>(nest_at(std::as_const(program), path));
}

void split_loop(Nest& nest, uint32_t& variable_count, size_t l, int64_t step) {
  Loop outer = nest.loops[l];
  Loop& inner = nest.loops[l];
  outer.step = step;
  outer.trips = ceil_div(inner.trips * inner.step, step);
  outer.variable = variable_count++;
  split_variable(nest, inner.variable, outer.variable);
  inner.trips = step / inner.step;
  nest.loops.insert(nest.loops.begin() + static_cast<long>(l), outer);
  for (Nest::Attached& attached : nest.attached)
    if (attached.depth > l) ++attached.depth;
}

std::vector<size_t> loops_over(const Nest& nest, size_t axis) {
  std::vector<size_t> found;
  for (size_t l = 0; l < nest.loops.size(); ++l)
    if (nest.loops[l].axis == axis) found.push_back(l);
  return found;
}

int64_t width_below(const Nest& nest, size_t axis, size_t depth) {
  int64_t width = nest.spans[axis];
  for (size_t l = 0; l < depth; ++l)
    if (nest.loops[l].axis == axis) width = std::min(width, nest.loops[l].step);
  return width;
}

bool is_commutative(CombinerKind kind) {
  return kind != CombinerKind::ArgMax && kind != CombinerKind::ArgMin &&
         kind != CombinerKind::Custom;
}

bool keeps_reduction_order(const Stage& stage, const Nest& nest) {
  size_t latest = 0;
  for (const Loop& loop : nest.loops) {
    if (loop.axis < stage.domain.output_rank) continue;
    if (loop.axis < latest) return false;
    latest = loop.axis;
  }
  return true;
}

bool writes_apart(const Graph& graph, const Stage& stage, size_t axis) {
  if (stage.kind != StageKind::Scatter) return false;
  std::vector<ExprId> target = stage.target;
  if (const std::optional<Segments> segments = segments_of(graph.pool, stage))
    target[segments->dimension] = segments->inside[0];
  const IndexMap map = index_map(graph.pool, target, stage.domain);
  return std::ranges::any_of(map.forms, [&](const std::optional<Affine>& form) {
    if (!form || form->coefficient(axis) == 0) return false;
    for (size_t v = 0; v < form->size(); ++v)
      if (v != axis && form->coefficient(v) != 0) return false;
    return true;
  });
}

bool is_independent(const LoweredGraph& graph, const Stage& stage, size_t axis) {
  if (const Running* running = running_of(graph, stage); running && running->axis == axis)
    return false;
  if (stage.kind != StageKind::Scatter) return axis < stage.domain.output_rank;
  return graph.distinct.contains(stage_key(stage)) || writes_apart(graph, stage, axis);
}

bool goes_on_in_memory(const LoweredGraph& graph, const Stage& stage, size_t axis) {
  return stage.kind == StageKind::Compute && !running_of(graph, stage) &&
         axis >= stage.domain.output_rank && stage.domain.extents[axis] > 0 &&
         has_partial_results(stage.combiner.kind) &&
         std::ranges::all_of(stage.results, [&](TensorId id) {
           const DType dtype = graph.info(id).dtype;
           return accumulator_of(dtype) == dtype;
         });
}

// Serial loops, with nothing but the tile inside them; or the last ones of the nest: serial ones,
// then threads', then the tile's.
static bool runs_innermost(const Running& running, const Nest& nest) {
  bool found = false;
  if (runs_together(running, nest)) {
    bool threads = false;
    for (const Loop& loop : nest.loops) {
      const bool runs = loop.axis == running.axis;
      if (found && (!runs || (threads && loop.kind == LoopKind::Serial))) return false;
      found |= runs;
      threads |= runs && loop.kind == LoopKind::Thread;
    }
    return true;
  }
  for (size_t l = 0; l < nest.loops.size(); ++l) {
    const bool runs = nest.loops[l].axis == running.axis;
    if (runs ? l >= tile_begin(nest) : found && l < tile_begin(nest)) return false;
    found |= runs;
  }
  return true;
}

bool order_is_legal(const LoweredGraph& graph, const Stage& stage, const Nest& nest) {
  if (const Running* running = running_of(graph, stage)) return runs_innermost(*running, nest);
  if (stage.kind != StageKind::Scatter)
    return is_commutative(stage.combiner.kind) || keeps_reduction_order(stage, nest) ||
           (groups_of(stage, nest).threads > 1 && tells_order(graph, stage));
  if (stage.combiner.kind != CombinerKind::None) return true;
  // The last writer of an element is the last in domain order.
  size_t latest = 0;
  for (const Loop& loop : nest.loops) {
    if (writes_apart(graph, stage, loop.axis)) continue;
    if (loop.axis < latest) return false;
    latest = loop.axis;
  }
  return true;
}

Affine origin_above(const Nest& nest, size_t axis, size_t depth) {
  Affine origin = nest.axis_base[axis];
  for (size_t l = 0; l < depth; ++l)
    if (nest.loops[l].axis == axis) origin += Affine::variable(nest.loops[l].variable);
  return origin;
}

size_t complete_from(const Program& program, TensorId tensor) {
  const size_t producer = defining_stages(program.graph)[tensor.value];
  if (producer == SIZE_MAX) return 0;
  const std::optional<NestPath> path = find_nest(program, producer);
  invariant(path.has_value(), "a tensor is computed in no kernel");
  return program.kernels[path->kernel].root.stage + 1;
}

std::vector<size_t> stages_in_place(const Program& program) {
  if (program.in_place == 0) return {};
  std::vector<bool> placed(program.graph.stages.size(), false);
  for (const Kernel& kernel : program.kernels)
    for_each_nest(kernel.root, [&](const Nest& nest) { placed[nest.stage] = true; });
  std::vector<size_t> found;
  for (size_t s = 0; s < placed.size(); ++s)
    if (!placed[s]) found.push_back(s);
  return found;
}

double points_of(const Program& program, const Kernel& kernel) {
  double points = 0;
  for_each_nest(kernel.root, [&](const Nest& nest) {
    points += box_points(program.graph.stages[nest.stage].domain);
  });
  return points;
}

std::vector<TensorId> tensors_in_memory(const Program& program, const Kernel& kernel) {
  std::vector<TensorId> tensors;
  for_each_nest(kernel.root, [&](const Nest& nest) {
    const Stage& stage = program.graph.stages[nest.stage];
    for (TensorId id : tensors_read(program.graph, stage)) tensors.push_back(id);
    tensors.insert(tensors.end(), stage.results.begin(), stage.results.end());
  });
  std::ranges::sort(tensors);
  tensors.erase(std::ranges::unique(tensors).begin(), tensors.end());
  std::erase_if(tensors, [&](TensorId id) { return program.scopes[id.value] == Scope::Local; });
  return tensors;
}

}  // namespace adjit::sched
