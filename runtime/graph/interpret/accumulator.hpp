// runtime/graph/interpret/accumulator.hpp -- folds the values of one stage's bodies: the meaning of
// every combiner.
#pragma once

#include <span>
#include <vector>

#include "runtime/graph/interpret/evaluator.hpp"

namespace adjit::graph {

/// The running values of a stage, one per tuple component, in the accumulator's type (half types
/// run in float32).
class Accumulator {
 public:
  /// The stage must be a Compute or Scatter stage of the graph; both must outlive the accumulator.
  Accumulator(const Graph& graph, const Stage& stage);

  /// Back to the combiner's identity (0 for None).
  void reset();
  void set(size_t k, Scalar value) { values_[k] = value; }
  Scalar value(size_t k) const { return values_[k]; }
  /// Whether nothing is folded in yet.
  bool empty() const { return empty_; }
  /// Values as if they had been folded in.
  void take(std::span<const Scalar> values) {
    values_.assign(values.begin(), values.end());
    empty_ = false;
  }
  /// Folds in the bodies' values at the evaluator's point (its leading roots are the bodies). None
  /// overwrites.
  void add(const PointEvaluator& bodies);

 private:
  Scalar identity(size_t k) const;
  void fold(const PointEvaluator& bodies, size_t k);
  bool wins(Scalar candidate) const;
  void combine(const PointEvaluator& bodies);

  const Graph* graph_;
  const Combiner* combiner_;
  PointEvaluator combine_;
  std::vector<DType> dtypes_;
  std::vector<Scalar> values_;
  std::vector<bool> products_;  // per body: a product is accumulated with fma
  bool empty_ = true;           // nothing folded in yet
};

}  // namespace adjit::graph
