// autosched/moves/substitution.hpp -- stages' bodies in place of the reads of their results.
#pragma once

#include <memory>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace adjit::sched {

/// Reads of the results of some stages become those stages' bodies. The substitution does not
/// depend on where a read stands, so one memo serves all readers: linear in the expressions
/// visited. Works in the graph's own pool; stages must come in the graph's order.
class Substitution {
 public:
  explicit Substitution(Graph& graph);

  /// From now on, reads of the stage's results become its bodies as they are now.
  void replace(const Stage& stage);
  /// From now on, they are reads again.
  void forget(const Stage& stage);
  /// ErrorCode::Schedule where that makes more than kNodeLimit (limits.hpp) of it.
  void apply(Stage& stage);

 private:
  ExprId leaf(ExprId leaf, std::span<const ExprId> operands);

  Graph& graph_;
  std::vector<ExprId> body_of_, condition_of_;  // per tensor
  std::unique_ptr<Rebuilder> rebuild_;
  size_t nodes_before_ = 0;  // apply() in the pool
};

}  // namespace adjit::sched
