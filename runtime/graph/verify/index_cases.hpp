// runtime/graph/verify/index_cases.hpp -- index expressions and conditions as affine rows over a
// stage's variables.
//
// min, max, abs and select inside an index split it into cases, each a conjunction of rows with an
// affine value. What is not affine (a tensor's element, a product of axes) becomes a variable of
// its own with the range that its operations and dtypes leave (runtime/expr/interval.hpp).
//
// Code wraps at 64 bits where forms do not. Sums may wrap on the way, since they wrap back: v + 5 -
// 5 is v. Where a value is used as a number (compared, divided, as an index) a form that may leave
// int64 is split, too. Worked example, v + 1 for an int64 element v, with a variable e for what
// code makes of it: the value is e, where either
//   e = v + 1,   or   v + 1 >= 2^62 and e <= -2^62.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "runtime/expr/interval.hpp"
#include "runtime/graph/graph.hpp"
#include "runtime/graph/verify/index_variables.hpp"
#include "runtime/graph/verify/linear_system.hpp"

namespace adjit::graph {

class IndexCases {
 public:
  struct Case {
    LinearSystem rows;  // hold in this case
    Affine value;
  };
  using Conjunctions = std::vector<LinearSystem>;  // one of them holds

  IndexCases(const ExprPool& pool, const Domain& domain);

  /// What the rows of cases and conditions are written in. Cases that are asked for add to it.
  const IndexVariables& variables() const { return variables_; }
  /// The cases of an Int64 expression; together they cover every point. At least one.
  const std::vector<Case>& cases(ExprId expr);
  /// What a condition (or its negation) says. A part that says nothing affine is left out, so that
  /// the result is implied by the condition.
  const Conjunctions& conditions(ExprId condition, bool holds);

 private:
  void prepare(ExprId root);
  /// Modulo 2^64; the node is prepared.
  const std::vector<Case>& congruent(ExprId id) const { return congruent_.at(id.value); }
  /// As a number; the node is prepared.
  const std::vector<Case>& exact(ExprId id);
  std::vector<Case> convert(ExprId id);
  std::vector<Case> split_where_it_wraps(ExprId id);
  std::vector<Case> product(ExprId id);
  std::vector<Case> of_numbers(ExprId id);
  std::vector<Case> opaque(ExprId id);
  Conjunctions convert_condition(ExprId id, bool holds);

  const ExprPool& pool_;
  Intervals bounds_;
  IndexVariables variables_;
  std::unordered_map<uint32_t, std::vector<Case>> congruent_;  // values modulo 2^64
  std::unordered_map<uint32_t, std::vector<Case>> exact_;
  std::unordered_map<uint32_t, Conjunctions> conditions_[2];
};

/// Every pair of a and b, joined; where there would be more than a few dozen, those that can hold,
/// or `a` alone (a weaker statement).
IndexCases::Conjunctions both_hold(const IndexCases::Conjunctions& a,
                                   const IndexCases::Conjunctions& b);

}  // namespace adjit::graph
