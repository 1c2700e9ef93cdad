// runtime/diff/simplify/expanded_bodies.cpp -- reads of elementwise stages replaced by their
// bodies.
#include "runtime/diff/simplify/expanded_bodies.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/diff/indices/index_choices.hpp"
#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/diff/rewrite/unconditional_reads.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::diff {
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

// Whether the reader's points, each axis in one coordinate, are all of the stage's: coordinates are
// numbers in mixed radix (i, or 16 * i + j over 0 <= j < 16), and constant along one point.
bool reads_all(const ExprPool& pool, const Stage& reader, const Stage& inner, ExprId read) {
  if (!reader.domain.is_box() || !reader.domain.divisions.empty()) return false;
  std::vector<char> used(reader.domain.rank(), 0);
  const IndexMap map = index_map(pool, pool.read_index(read), reader.domain);
  if (!map.is_affine() || !map.domain.divisions.empty()) return false;
  for (size_t d = 0; d < inner.domain.rank(); ++d) {
    const Affine& form = *map.forms[d];
    if (form.constant() != 0) return false;
    int64_t covered = 1;
    std::vector<std::pair<int64_t, size_t>> digits;  // coefficient, axis
    for (size_t k = 0; k < form.size(); ++k)
      if (form.coefficient(k) != 0) digits.emplace_back(form.coefficient(k), k);
    std::ranges::sort(digits);
    for (const auto& [coefficient, axis] : digits) {
      if (coefficient != covered || used[axis]) return false;
      used[axis] = 1;
      if (__builtin_mul_overflow(covered, reader.domain.extents[axis], &covered)) return false;
    }
    if (covered != inner.domain.extents[d]) return false;
  }
  return true;
}

}  // namespace

ExpandedBodies::ExpandedBodies(Graph& graph)
    : graph_(graph),
      defined_by_(defining_stages(graph)),
      readers_(graph.tensors.size(), 0),
      elementwise_(graph.stages.size(), 0),
      cheap_(graph.stages.size(), 0),
      gathers_(graph.stages.size(), 0),
      placed_(graph.stages.size(), 0) {
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
    const std::vector<ExprId> always = unconditional_reads(pool, stage.bodies);
    for (ExprId id : reachable(pool, stage.bodies)) {
      if (!pool.is(id, Op::Read)) continue;
      const bool placed = contains_read(pool, pool.read_index(id));
      const size_t inner = inner_stage(stage, id, always);
      const int more = placed && is_float(pool.dtype(id)) ? 1 : 0;
      gathers_[s] =
          std::min(gathers_[s] + more + (inner == SIZE_MAX ? 0 : gathers_[inner]), kEnough);
      placed_[s] |= placed || (inner != SIZE_MAX && placed_[inner]);
    }
  }
}

size_t ExpandedBodies::inner_stage(const Stage& reader, ExprId read,
                                   std::span<const ExprId> always) const {
  const ExprPool& pool = graph_.pool;
  if (!pool.is(read, Op::Read) || pool.read_predicate(read).valid()) return SIZE_MAX;
  const size_t s = defined_by_[pool.read_tensor(read).value];
  if (s == SIZE_MAX || !elementwise_[s]) return SIZE_MAX;
  const Stage& inner = graph_.stages[s];
  const bool once = readers_[inner.results[0].value] == 1;
  if ((!cheap_[s] && !once) || inner.region != reader.region ||
      inner.stop_gradient != reader.stop_gradient)
    return SIZE_MAX;
  if (placed_[s] &&
      (!std::ranges::binary_search(always, read) || !reads_all(pool, reader, inner, read)))
    return SIZE_MAX;
  return s;
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
  const std::vector<ExprId> always = unconditional_reads(pool, stage.bodies);
  const auto leaf = [&](ExprId id, std::span<const ExprId> operands) -> ExprId {
    const size_t inner = inner_stage(stage, id, always);
    if (inner == SIZE_MAX || pool.size() > most_nodes_) return {};
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

}  // namespace adjit::diff
