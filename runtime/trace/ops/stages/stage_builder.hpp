// runtime/trace/ops/stages/stage_builder.hpp -- one Compute stage, axis by axis.
//
// Worked example, y[i] = sum_r x[i, r] with padding rows 0 <= i + r - 1 < 5:
//   StageBuilder stage(trace, "windows", {4});
//   Formula i = stage.axis(0), r = stage.reduce(3);
//   stage.between(i + r - 1, 0, 5);
//   TensorId y = stage.finish(CombinerKind::Sum, stage.read(x, {i, r}), DType::Float32);
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/trace/ops/stages/formula.hpp"
#include "runtime/trace/ops/stages/shape.hpp"
#include "runtime/trace/trace.hpp"

namespace adjit::trace {

class StageBuilder {
 public:
  StageBuilder(Trace& trace, std::string_view name, Shape shape);

  Trace& trace() const { return trace_; }
  size_t rank() const { return domain_.output_rank; }
  Formula axis(size_t output_axis) const;
  /// A new reduction axis. All of them come before any row.
  Formula reduce(int64_t extent);

  /// An element; half types arrive as float32. With a predicate: 0 where it is false.
  Formula read(TensorId tensor, std::span<const Formula> index) const;
  Formula read(TensorId tensor, std::initializer_list<Formula> index) const {
    return read(tensor, std::span<const Formula>(index.begin(), index.size()));
  }
  Formula read_where(Formula predicate, TensorId tensor, std::span<const Formula> index) const;

  /// Restricts the domain to lo <= e < hi; rows that always hold are left out. `e` must be
  /// quasi-affine.
  void between(Formula e, int64_t lo, int64_t hi);
  /// Restricts the domain to where an affine condition holds.
  void where(Formula condition);

  /// The stage without a reduction. The body is cast to `dtype`.
  TensorId finish(Formula body, DType dtype);
  TensorId finish(Formula body) { return finish(body, body.dtype()); }
  /// The stage as a reduction. Where `dtype` is narrower than the body's (half types), a second
  /// stage rounds.
  TensorId finish(CombinerKind kind, Formula body, DType dtype, Ties ties = Ties::Even);
  /// The stage with several bodies (ArgMax: value and position).
  std::vector<TensorId> finish(Combiner combiner, std::span<const Formula> bodies);

  /// The derivative takes the result for a constant.
  void stop_gradient() { stop_gradient_ = true; }

 private:
  Trace& trace_;
  std::string name_;
  Domain domain_;
  bool stop_gradient_ = false;
};

/// All output axes, in order.
std::vector<Formula> output_axes(const StageBuilder& stage);
Formula integer(const StageBuilder& stage, int64_t value);
Formula constant(const StageBuilder& stage, double value, DType dtype);
/// The element that broadcasting to the output axes puts there: trailing dimensions aligned,
/// extents 1 read at 0.
Formula read_broadcast(const StageBuilder& stage, TensorId tensor);

}  // namespace adjit::trace
