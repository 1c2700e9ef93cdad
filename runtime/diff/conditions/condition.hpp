// runtime/diff/conditions/condition.hpp -- path conditions: under which enclosing selects a value
// takes part.
//
// A condition is a conjunction, kept as a node of a tree: its parent and one more literal. Sharing
// prefixes keeps a chain of 10,000 nested selects linear, and makes the two branches of one select
// siblings that can be rejoined.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "runtime/expr/expr.hpp"

namespace adjit::diff {

/// Index into a Conditions table; 0 is "always".
struct ConditionId {
  uint32_t value = 0;
  bool always() const { return value == 0; }
  auto operator<=>(const ConditionId&) const = default;
};

/// A value that has a meaning only where its condition holds; elsewhere it stands for zero,
/// whatever it evaluates to.
struct Guarded {
  ConditionId condition;
  ExprId value;
};

class Conditions {
 public:
  explicit Conditions(ExprPool& pool) : pool_(pool), nodes_{Entry{}} {}

  /// parent && literal.
  ConditionId refine(ConditionId parent, ExprId literal);
  /// The conjunction as an expression; an invalid id for "always".
  ExprId expr(ConditionId condition);

  /// The sum of guarded values as one guarded value: equal conditions add up, the two branches of
  /// one select rejoin, the rest is guarded term by term under the disjunction of their conditions.
  /// All values have one dtype.
  Guarded sum(std::span<const Guarded> terms);

 private:
  struct Entry {
    uint32_t parent = 0, depth = 0;
    ExprId literal;
    ExprId whole;  // the conjunction, once it has been asked for
  };
  ConditionId common(ConditionId a, ConditionId b) const;
  ExprId expr_below(ConditionId condition, ConditionId ancestor);
  Guarded join(std::span<const Guarded> rest);

  ExprPool& pool_;
  std::vector<Entry> nodes_;
  std::map<std::pair<uint32_t, ExprId>, uint32_t> children_;
};

/// !condition, without a double negation.
ExprId negation(ExprPool& pool, ExprId condition);
/// a && b, where an invalid id stands for "always".
ExprId both(ExprPool& pool, ExprId a, ExprId b);
/// a || b, where an invalid id stands for "always".
ExprId either(ExprPool& pool, ExprId a, ExprId b);
/// condition ? value : 0; the value itself where the condition is "always" (invalid).
ExprId guard(ExprPool& pool, ExprId condition, ExprId value);
/// The conjuncts of a condition (none for an invalid id).
std::vector<ExprId> conjuncts(const ExprPool& pool, ExprId condition);
/// The sum of expressions of one dtype as a balanced tree, in the order given; equal neighbours
/// double.
ExprId balanced_sum(ExprPool& pool, std::span<const ExprId> terms);

}  // namespace adjit::diff
