// runtime/diff/simplify/loops/defer_sums.hpp -- sums over the steps of a scan, formed once after
// the loop.
//
// The gradient of a fixed operand W is a sum over time of a step's contribution G. Carried through
// the loop it costs a read and a write of W's size every step. Where G is a stage over values that
// are stacked anyway, one stage with time as one more reduction axis does the same after the loop:
//   step: G[i, j] = sum_b da[b, i] * h[b, j]     ->     dW[i, j] = sum_t sum_b DA[t, b, i] * H[t,
//   b, j]
// where H (a saved carry) lies stacked outside and DA becomes one more stacked result of the loop.
//
// The rule: with T steps, |W| the bytes of the operand and |X| those per step of the values that
// have to be stacked for it alone, the sum leaves the loop if that moves fewer bytes,
//   2 T |X| + |W| < 2 T |W|.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/diff/simplify/loops/time_axis.hpp"
#include "runtime/graph/graph.hpp"

namespace adjit::diff {

class SumsOverTime {
 public:
  /// `outside` has an entry per tensor of the step: what is known of it without stacking more.
  /// Both graphs must outlive this; expressions are added to both pools.
  SumsOverTime(Graph& step, Graph& graph, int64_t trips,
               std::vector<std::optional<Outside>> outside, std::vector<SourceLine> lines);

  /// Says that the loop stacks this tensor of the step anyway; lies() will say where.
  void stacks(TensorId step_tensor) { anyway_.push_back(step_tensor); }
  /// Whether the sum of this tensor of the step leaves the loop; then sum() gives it.
  bool take(TensorId gradient);
  /// Tensors of the step that the loop has to stack for what was taken, beside those it stacks
  /// anyway.
  const std::vector<TensorId>& stacked() const { return stacked_; }
  /// Where a tensor of stacked() lies, once the loop stands in the graph.
  void lies(TensorId step_tensor, TensorId outer);
  /// Appends the stages of the sum: a tensor of the gradient's shape and dtype.
  TensorId sum(TensorId gradient);

 private:
  // One addend: a stage of the step, with this body.
  struct Term {
    const Stage* stage = nullptr;
    Domain domain;
    ExprId body;
  };

  std::optional<std::vector<Term>> terms_of(TensorId gradient);
  bool add_terms(const Stage& stage, std::vector<Term>& terms, std::vector<TensorId>& further);
  void split_sum(const Stage& stage, std::vector<Term>& terms, std::vector<TensorId>& further);
  bool known(TensorId step_tensor) const;
  std::vector<TensorId> to_stack(const std::vector<Term>& terms) const;
  TensorId emit(const Term& term, const TensorInfo& like);
  ExprId outer_expression(const Domain& domain, ExprId body);
  TensorId outer_tensor(TensorId step_tensor);

  Graph& step_;
  Graph& graph_;
  int64_t trips_;
  std::vector<std::optional<Outside>> outside_;
  std::vector<SourceLine> lines_;
  std::vector<size_t> stage_of_;
  std::vector<TensorId> anyway_, stacked_;
};

}  // namespace adjit::diff
