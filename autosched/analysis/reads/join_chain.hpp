// autosched/analysis/reads/join_chain.hpp -- long chains of selects that read one of many tensors,
// by where a point is.
//
// A concatenation or stack of tensors is such a chain,
//   select(i < 64, a(i, j), select(i < 128, b(i - 64, j), ... z(i - 960, j))).
// Compiled, a point of it is one load, from the tensor whose number i tells
// (jit/emit/shape/join.hpp), as long as the parts are tensors in memory: what computes them is
// neither substituted into the chain nor computed in its reader's loops.
#pragma once

#include <optional>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace adjit::sched {

struct JoinChain {
  ExprId position;  // an index
  /// Part k (but the last one) is read where position < ends[k], or where position > ends[k] if
  /// `falling`, and no part before it is.
  std::vector<int64_t> ends;
  bool falling = false;
  std::vector<ExprId> parts;  // reads of one dtype at indices without data, or casts of such
};

/// The chain that a select begins; nothing where it is shorter or compares something else.
std::optional<JoinChain> join_chain(const ExprPool& pool, ExprId root);

/// The read of a part.
ExprId read_of_part(const ExprPool& pool, ExprId part);

/// Tensors that chains in a stage's bodies join, ascending.
std::vector<TensorId> joined_tensors(const Graph& graph, const Stage& stage);

}  // namespace adjit::sched
