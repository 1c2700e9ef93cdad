// runtime/trace/ops/stages/stage_builder.cpp -- one Compute stage, axis by axis.
#include "runtime/trace/ops/stages/stage_builder.hpp"

#include <utility>

#include "runtime/expr/interval.hpp"
#include "runtime/trace/rows.hpp"

namespace adjit::trace {

StageBuilder::StageBuilder(Trace& trace, std::string_view name, Shape shape)
    : trace_(trace), name_(name) {
  domain_.output_rank = shape.size();
  domain_.extents = std::move(shape);
}

Formula StageBuilder::axis(size_t output_axis) const {
  invariant(output_axis < domain_.output_rank, "an output axis that the stage does not have");
  return {trace_.pool(), trace_.pool().axis(output_axis)};
}

Formula StageBuilder::reduce(int64_t extent) {
  invariant(domain_.divisions.empty() && domain_.is_box(), "reduction axes come before rows");
  domain_.extents.push_back(extent);
  return {trace_.pool(), trace_.pool().axis(domain_.rank() - 1)};
}

Formula StageBuilder::read(TensorId tensor, std::span<const Formula> index) const {
  std::vector<ExprId> ids;
  for (const Formula& coordinate : index) ids.push_back(coordinate.id());
  return {trace_.pool(), trace::read(trace_, tensor, ids)};
}

Formula StageBuilder::read_where(Formula predicate, TensorId tensor,
                                 std::span<const Formula> index) const {
  std::vector<ExprId> ids;
  for (const Formula& coordinate : index) ids.push_back(coordinate.id());
  return {trace_.pool(), trace::read(trace_, tensor, ids, predicate.id())};
}

void StageBuilder::between(Formula e, int64_t lo, int64_t hi) {
  const std::optional<ValueRange> range = interval_of(trace_.pool(), e.id(), domain_.extents);
  if (!range || range->lo < lo) where(e >= lo);
  if (!range || range->hi >= hi) where(e < hi);
}

void StageBuilder::where(Formula condition) {
  const ExprId rest = restrict_domain(trace_.pool(), condition.id(), domain_);
  // Operators write affine rows only: what is none has numbers that leave 64 bits.
  if (!trace_.pool().is_true(rest)) throw Overflow();
}

TensorId StageBuilder::finish(Formula body, DType dtype) {
  return add_compute(trace_, name_, domain_, {}, {body.cast(dtype).id()}, stop_gradient_)[0];
}

TensorId StageBuilder::finish(CombinerKind kind, Formula body, DType dtype, Ties ties) {
  if (accumulator_of(dtype) == dtype) body = body.cast(dtype);
  const TensorId wide =
      add_compute(trace_, name_, domain_, {kind, ties, {}, {}}, {body.id()}, stop_gradient_)[0];
  if (dtype_of(trace_, wide) == dtype) return wide;
  StageBuilder rounding(trace_, name_, shape_of(trace_, wide));
  rounding.stop_gradient_ = stop_gradient_;
  return rounding.finish(rounding.read(wide, output_axes(rounding)), dtype);
}

std::vector<TensorId> StageBuilder::finish(Combiner combiner, std::span<const Formula> bodies) {
  std::vector<ExprId> ids;
  for (const Formula& body : bodies) ids.push_back(body.id());
  return add_compute(trace_, name_, domain_, std::move(combiner), std::move(ids), stop_gradient_);
}

std::vector<Formula> output_axes(const StageBuilder& stage) {
  std::vector<Formula> all;
  for (size_t k = 0; k < stage.rank(); ++k) all.push_back(stage.axis(k));
  return all;
}

Formula integer(const StageBuilder& stage, int64_t value) {
  return {stage.trace().pool(), stage.trace().pool().constant_int(value)};
}

Formula constant(const StageBuilder& stage, double value, DType dtype) {
  return {stage.trace().pool(), stage.trace().pool().constant(value, dtype)};
}

Formula read_broadcast(const StageBuilder& stage, TensorId tensor) {
  const Shape& shape = shape_of(stage.trace(), tensor);
  invariant(shape.size() <= stage.rank(), "broadcasting to a smaller rank");
  const size_t skipped = stage.rank() - shape.size();
  std::vector<Formula> index;
  for (size_t k = 0; k < shape.size(); ++k)
    index.push_back(shape[k] == 1 ? integer(stage, 0) : stage.axis(skipped + k));
  return stage.read(tensor, index);
}

}  // namespace adjit::trace
