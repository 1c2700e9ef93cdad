// autosched/gpu/columns/companions.cpp -- stages that go through what a reduction goes through.
#include "autosched/gpu/columns/companions.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "autosched/analysis/reads/join_chain.hpp"
#include "autosched/analysis/reads/select_axis.hpp"
#include "autosched/gpu/loops/pointwise_reader.hpp"
#include "autosched/gpu/loops/thread_loops.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"
#include "autosched/program/required_region.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
namespace {

constexpr size_t kSearchLimit = 256;  // stages visited to prove independence

// The only axis of a form that is one axis and a constant.
std::optional<size_t> single_axis(const Affine& form) {
  std::optional<size_t> found;
  for (size_t axis = 0; axis < form.size(); ++axis) {
    const int64_t scale = form.coefficient(axis);
    if (scale == 0) continue;
    if (found || scale != 1) return std::nullopt;
    found = axis;
  }
  return found;
}

// The axes of a stage of these extents, where its forms take the values of the others.
std::optional<std::vector<Affine>> solve(const IndexMap& forms, std::span<const int64_t> extents,
                                         const IndexMap& others, size_t axes) {
  std::vector<std::optional<Affine>> found(extents.size());
  for (size_t d = 0; d < forms.forms.size(); ++d) {
    const std::optional<Affine>&form = forms.forms[d], &other = others.forms[d];
    if (!form || !other || form->size() > extents.size() || other->size() > axes)
      return std::nullopt;
    if (form->is_constant()) {
      if (*form != *other) return std::nullopt;
      continue;
    }
    const std::optional<size_t> axis = single_axis(*form);
    if (!axis) return std::nullopt;
    const Affine value = *other - Affine(form->constant());
    if (found[*axis] && *found[*axis] != value) return std::nullopt;
    found[*axis] = value;
  }
  std::vector<Affine> indices;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    if (!found[axis] && extents[axis] != 1) return std::nullopt;
    indices.push_back(found[axis].value_or(Affine()));
  }
  return indices;
}

bool reads_any(const Graph& graph, const Stage& stage, const Stage& of) {
  return std::ranges::any_of(tensors_read(graph, stage), [&](TensorId id) {
    return std::ranges::find(of.results, id) != of.results.end();
  });
}

// Whether a stage needs what another one computes, or may: that it does not takes long to tell.
bool may_need(const Program& program, const std::vector<size_t>& producers, size_t stage,
              size_t other) {
  std::vector<size_t> open{stage};
  std::set<size_t> seen{stage};
  while (!open.empty()) {
    const size_t at = open.back();
    open.pop_back();
    if (at == other || seen.size() > kSearchLimit) return true;
    for (TensorId id : tensors_read(program.graph, program.graph.stages[at]))
      if (const size_t p = producers[id.value];
          p != SIZE_MAX && p >= other && seen.insert(p).second)
        open.push_back(p);
  }
  return false;
}

bool may_be_companion(const Program& program, size_t s, size_t reduction) {
  const LoweredGraph& graph = program.graph;
  const Stage& stage = graph.stages[s];
  return s != reduction && stage.kind == StageKind::Compute && !running_of(graph, stage) &&
         stage.combiner.kind == CombinerKind::None &&
         box_points(stage.domain) == box_points(graph.stages[reduction].domain) &&
         is_alone(program, s) && joined_tensors(graph, stage).empty() &&
         !deciding_axis(graph, stage);
}

}  // namespace

std::optional<std::vector<Affine>> indices_like(const LoweredGraph& graph, const Stage& stage,
                                                const Stage& like, double elements) {
  const ExprPool& pool = graph.pool;
  const std::vector<ExprId> own = reads_of(graph, stage);
  for (ExprId there : reads_of(graph, like)) {
    const TensorId tensor = pool.read_tensor(there);
    if (static_cast<double>(graph.info(tensor).element_count()) < elements) continue;
    const IndexMap others = index_map(pool, pool.read_index(there), like.domain);
    for (ExprId here : own) {
      if (pool.read_tensor(here) != tensor) continue;
      const IndexMap forms = index_map(pool, pool.read_index(here), stage.domain);
      if (auto indices = solve(forms, stage.domain.extents, others, like.domain.rank()))
        return indices;
    }
  }
  return std::nullopt;
}

bool is_epilogue(const Program& program, const std::vector<size_t>& producers, size_t stage) {
  const LoweredGraph& graph = program.graph;
  return std::ranges::any_of(tensors_read(graph, graph.stages[stage]), [&](TensorId id) {
    const size_t p = producers[id.value];
    return p != SIZE_MAX && is_contraction(graph, graph.stages[p]) &&
           pointwise_reader(program, p) == stage;
  });
}

std::vector<size_t> companions_of(const Program& program, size_t reduction) {
  const LoweredGraph& graph = program.graph;
  const Stage& sum = graph.stages[reduction];
  const std::vector<size_t> producers = defining_stages(graph);
  std::vector<size_t> found;
  for (size_t s = 0; s < graph.stages.size(); ++s) {
    const Stage& stage = graph.stages[s];
    if (!may_be_companion(program, s, reduction)) continue;
    const bool related = reads_any(graph, sum, stage) ||
                         indices_like(graph, stage, sum, box_points(sum.domain)).has_value();
    if (related && !is_epilogue(program, producers, s) &&
        !may_need(program, producers, s, reduction))
      found.push_back(s);
  }
  return found;
}

}  // namespace adjit::sched
