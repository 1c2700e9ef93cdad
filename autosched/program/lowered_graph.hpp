// autosched/program/lowered_graph.hpp -- a graph as a program computes it, with what the stages and
// tensors of a plain one do not say: which results run on along an axis, which scatters write each
// element once, and the room behind rows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "runtime/diff/conditions/prefix_reduction.hpp"
#include "runtime/graph/graph.hpp"

namespace adjit::sched {

/// What tables about stages have as their key: passes put stages in between, so that numbers of
/// stages change, but a stage keeps its first result.
using StageKey = uint32_t;
inline StageKey stage_key(const Stage& stage) { return stage.results.front().value; }
using StageSet = std::unordered_set<StageKey>;

/// Moves edit it in place and keep the tables: a plain graph is made one explicitly, and cannot be
/// assigned to one.
struct LoweredGraph : Graph {
  LoweredGraph() = default;
  explicit LoweredGraph(Graph graph) : Graph(std::move(graph)) {}

  /// Stages over a box without a reduction axis whose results run on along an axis of theirs, by
  /// lower_running (autosched/lower/prefix.hpp); rematerialize copies them.
  std::map<StageKey, Running> running;
  /// Scatters no two points of which write to one element, though it takes more than their targets
  /// to see that: permutations, by invert. One without an `initial` tensor writes all elements.
  StageSet distinct;
  /// Elements behind each innermost row of a tensor that belong to none, by
  /// pad_leading_dimension; of a program's own memory only.
  std::map<TensorId, int64_t> row_gaps;
};

/// How a stage's results run on along an axis; null: they do not. Valid until the table changes.
const Running* running_of(const LoweredGraph& graph, const Stage& stage);

/// Elements behind each innermost row of a tensor.
int64_t row_gap(const LoweredGraph& graph, TensorId id);
/// Elements from one index to the next, per dimension, where a program keeps a tensor: row-major,
/// with the gap behind its rows.
std::vector<int64_t> strides_of(const LoweredGraph& graph, TensorId id);
/// Elements that it takes there.
int64_t elements_with_gaps(const LoweredGraph& graph, TensorId id);

/// Drops what the tables say of stages and results that have been removed.
void forget_removed(LoweredGraph& graph);
/// Why the tables are wrong: they name a stage or a tensor that does not exist, or what it cannot
/// be. "" when they are not.
std::string fault_in_tables(const LoweredGraph& graph);

}  // namespace adjit::sched
