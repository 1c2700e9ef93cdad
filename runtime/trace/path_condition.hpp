// runtime/trace/path_condition.hpp -- under which conditions the nodes of an expression are needed.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "runtime/expr/expr.hpp"

namespace adjit::trace {

/// A conjunction of conditions, ascending and distinct; empty: always.
using PathCondition = std::vector<ExprId>;

/// The conjunction of both.
PathCondition both(const PathCondition& a, const PathCondition& b);
/// Holds where either holds: the common factors, and one disjunction of the rest unless that is
/// always true.
PathCondition either(ExprPool& pool, const PathCondition& a, const PathCondition& b);

/// The path condition of every node reachable from the roots. A node that several paths need is
/// needed where any of them needs it. The branches of a select are needed under its condition and
/// its negation; the right operands of && and || where the left one does not decide.
class PathConditions {
 public:
  /// An operand that a leaf stands for (the body of a lifted reduction), with what its path
  /// condition becomes.
  struct Inner {
    ExprId root;
    std::function<PathCondition(const PathCondition& of_leaf)> condition;
  };
  /// Inner operands of a leaf; their ids must be smaller than the leaf's.
  using Expand = std::function<std::vector<Inner>(ExprId leaf)>;

  PathConditions(ExprPool& pool, Expand expand) : pool_(pool), expand_(std::move(expand)) {}
  /// `root` is needed under `condition`. Add all roots, then run().
  void add_root(ExprId root, const PathCondition& condition);
  void run();
  /// Of a node that is reachable.
  const PathCondition& of(ExprId node) const { return conditions_.at(node.value); }
  bool reached(ExprId node) const { return conditions_.contains(node.value); }
  /// Reached nodes, ascending.
  std::vector<ExprId> nodes() const;

 private:
  void visit(ExprId node);
  void need(ExprId node, PathCondition condition);

  ExprPool& pool_;
  Expand expand_;
  std::unordered_map<uint32_t, PathCondition> conditions_;
  std::vector<uint32_t> queue_;  // a max-heap: parents before children
};

}  // namespace adjit::trace
