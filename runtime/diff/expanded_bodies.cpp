// runtime/diff/expanded_bodies.cpp -- reads of elementwise stages replaced by their bodies.
#include "runtime/diff/expanded_bodies.hpp"

#include <algorithm>

#include "runtime/diff/index_choices.hpp"
#include "runtime/diff/rewrite.hpp"

namespace adjit {
namespace {

bool is_elementwise(const Stage& stage) {
  return stage.kind == StageKind::Compute && stage.bodies.size() == 1 &&
         stage.combiner.kind == CombinerKind::None && stage.domain.is_box() &&
         stage.domain.divisions.empty();
}

// A few instructions, which a reader may as well repeat.
bool is_cheap(const ExprPool& pool, ExprId body) {
  return std::ranges::all_of(reachable(pool, std::span(&body, 1)), [&](ExprId id) {
    switch (pool[id].op) {
      case Op::Constant:
      case Op::Axis:
      case Op::Read:
      case Op::Floor:
      case Op::Ceil:
      case Op::Trunc:
      case Op::Round: return true;
      case Op::FloorDiv:
      case Op::Mod: return !is_float(pool.dtype(id));
      default: return is_index_operation(pool[id].op);
    }
  });
}

bool reads_data(const ExprPool& pool, std::span<const ExprId> roots) {
  return std::ranges::any_of(reachable(pool, roots),
                             [&](ExprId id) { return pool.is(id, Op::Read); });
}

}  // namespace

ExpandedBodies::ExpandedBodies(Graph& graph)
    : graph_(graph),
      defined_by_(defining_stages(graph)),
      readers_(graph.tensors.size(), 0),
      elementwise_(graph.stages.size(), 0),
      cheap_(graph.stages.size(), 0),
      gathers_(graph.stages.size(), 0) {
  for (TensorId output : graph.outputs) ++readers_[output.value];
  for (size_t s = 0; s < graph.stages.size(); ++s) {
    const Stage& stage = graph.stages[s];
    for (TensorId tensor : tensors_read(graph, stage)) ++readers_[tensor.value];
    elementwise_[s] = is_elementwise(stage);
    cheap_[s] = elementwise_[s] && is_cheap(graph.pool, stage.bodies[0]);
  }
  count_gathers();
}

void ExpandedBodies::count_gathers() {
  constexpr int kEnough = 2;
  const ExprPool& pool = graph_.pool;
  for (size_t s = 0; s < graph_.stages.size(); ++s) {
    const Stage& stage = graph_.stages[s];
    if (stage.kind != StageKind::Compute || stage.bodies.size() != 1) continue;
    for (ExprId id : reachable(pool, stage.bodies)) {
      if (!pool.is(id, Op::Read) || !is_float(pool.dtype(id))) continue;
      const size_t inner = defined_by_[pool.read_tensor(id).value];
      int more = reads_data(pool, pool.read_index(id)) ? 1 : 0;
      if (inner != SIZE_MAX && may_expand(inner, stage)) more += gathers_[inner];
      gathers_[s] = std::min(gathers_[s] + more, kEnough);
    }
  }
}

bool ExpandedBodies::may_expand(size_t inner, const Stage& reader) const {
  const Stage& stage = graph_.stages[inner];
  return elementwise_[inner] != 0 && (cheap_[inner] || readers_[stage.results[0].value] == 1) &&
         stage.region == reader.region && stage.stop_gradient == reader.stop_gradient;
}

ExpandedBodies::Expansion ExpandedBodies::operator()(size_t stage) {
  done_.assign(graph_.stages.size(), {});
  most_nodes_ = graph_.pool.size() + kMostExpandedNodes;
  Expansion expansion;
  expansion.body = expanded(graph_.stages[stage], expansion);
  // What others read stays.
  std::erase_if(expansion.taken,
                [&](size_t s) { return readers_[graph_.stages[s].results[0].value] != 1; });
  return expansion;
}

ExprId ExpandedBodies::expanded(const Stage& stage, Expansion& expansion) {
  ExprPool& pool = graph_.pool;
  const auto leaf = [&](ExprId id, std::span<const ExprId> operands) -> ExprId {
    if (!pool.is(id, Op::Read) || pool.read_predicate(id).valid()) return {};
    const size_t inner = defined_by_[pool.read_tensor(id).value];
    if (inner == SIZE_MAX || !may_expand(inner, stage) || pool.size() > most_nodes_) return {};
    const std::vector<ExprId> index(operands.begin(), operands.end());
    if (!done_[inner].valid()) {
      if (expansion.taken.size() >= kMostExpandedStages) return {};
      expansion.taken.push_back(inner);
      done_[inner] = expanded(graph_.stages[inner], expansion);
    }
    return substitute_axes(pool, done_[inner], index);
  };
  return Rebuilder(pool, pool, leaf)(stage.bodies[0]);
}

}  // namespace adjit
