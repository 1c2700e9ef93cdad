// runtime/trace/ops/creation/creation.cpp -- tensors from nothing: zeros, full, arange, eye, and
// their *_like.
#include <cmath>

#include "runtime/trace/ops/call/operator_call.hpp"
#include "runtime/trace/ops/creation/families.hpp"
#include "runtime/trace/ops/stages/elementwise.hpp"

namespace adjit::trace {
namespace {

TensorId filled(OperatorCall& call, const Shape& shape, const WeakScalar& value, DType dtype) {
  Trace& trace = call.trace();
  for (int64_t extent : shape)
    if (extent < 0) throw Error(ErrorCode::Shape, "negative extent in " + to_string(shape));
  StageBuilder stage(trace, call.name(), shape);
  const Formula body(trace.pool(), to_constant(trace.pool(), value, accumulator_of(dtype)));
  return stage.finish(body, dtype);
}

Shape shape_of(const OperatorCall& call) {
  const std::optional<Shape> shape = call.attributes().integers("shape");
  if (!shape) throw Error(ErrorCode::Invalid, "shape is missing");
  return *shape;
}

WeakScalar number(DType dtype, bool one) {
  return dtype == DType::Bool ? WeakScalar::of(one) : WeakScalar::of(int64_t{one});
}

std::vector<TensorId> constant_fill(OperatorCall& call, bool one) {
  const DType dtype = call.attributes().dtype("dtype").value_or(DType::Float32);
  return {filled(call, shape_of(call), number(dtype, one), dtype)};
}
std::vector<TensorId> zeros(OperatorCall& call) { return constant_fill(call, false); }
std::vector<TensorId> ones(OperatorCall& call) { return constant_fill(call, true); }

std::vector<TensorId> fill_like(OperatorCall& call, bool one) {
  const DType dtype =
      call.attributes().dtype("dtype").value_or(dtype_of(call.trace(), call.tensor(0)));
  return {filled(call, call.shape(0), number(dtype, one), dtype)};
}
std::vector<TensorId> zeros_like(OperatorCall& call) { return fill_like(call, false); }
std::vector<TensorId> ones_like(OperatorCall& call) { return fill_like(call, true); }

// The value may be a 0-d tensor: its gradient is the sum of g.
TensorId full_of(OperatorCall& call, const Shape& shape, const Operand& value,
                 std::optional<DType> dtype) {
  Trace& trace = call.trace();
  if (!dtype) dtype = created_dtype(type_of(trace, value));
  if (value.scalar) return filled(call, shape, *value.scalar, *dtype);
  const Shape own = shape_of(trace, value.tensor);
  if (own.size() > shape.size() || broadcast(shape, own) != shape)
    throw Error(ErrorCode::Shape, "a value of shape " + to_string(own) +
                                      " does not broadcast to the shape " + to_string(shape) +
                                      " that is filled");
  StageBuilder stage(trace, call.name(), shape);
  return stage.finish(read_broadcast(stage, value.tensor), *dtype);
}
std::vector<TensorId> full(OperatorCall& call) {
  return {full_of(call, shape_of(call), call.operand(0), call.attributes().dtype("dtype"))};
}
std::vector<TensorId> full_like(OperatorCall& call) {
  const DType dtype =
      call.attributes().dtype("dtype").value_or(dtype_of(call.trace(), call.tensor(0)));
  return {full_of(call, call.shape(0), call.operand(1), dtype)};
}

// start + i * step.
TensorId sequence(OperatorCall& call, int64_t count, const WeakScalar& start,
                  const WeakScalar& step, DType dtype) {
  Trace& trace = call.trace();
  StageBuilder stage(trace, call.name(), {count});
  const DType held = is_float(dtype) ? accumulator_of(dtype) : DType::Int64;
  const Formula first(trace.pool(), to_constant(trace.pool(), start, held));
  const Formula stride(trace.pool(), to_constant(trace.pool(), step, held));
  return stage.finish(first + stage.axis(0).cast(held) * stride, dtype);
}

std::vector<TensorId> arange(OperatorCall& call) {
  const WeakScalar zero = WeakScalar::of(int64_t{0}), one = WeakScalar::of(int64_t{1});
  WeakScalar start = call.attributes().scalar("start").value_or(zero);
  std::optional<WeakScalar> stop = call.attributes().scalar("stop");
  if (!stop) {  // arange(n)
    stop = start;
    start = zero;
  }
  const WeakScalar step = call.attributes().scalar("step").value_or(one);
  if (step.value() == 0) throw Error(ErrorCode::Invalid, "the step must not be 0");
  bool real = false;
  for (const WeakScalar& s : {start, *stop, step}) real |= s.kind == WeakScalar::Kind::Float;
  const DType dtype =
      call.attributes().dtype("dtype").value_or(real ? DType::Float32 : DType::Int64);
  const double count = std::ceil((stop->value() - start.value()) / step.value());
  const double extent = count < 0 ? 0 : count;  // NaN stays
  return {sequence(call, extent_of(extent, "arange"), start, step, dtype)};
}

std::vector<TensorId> linspace(OperatorCall& call) {
  const double start = call.attributes().real("start", 0), stop = call.attributes().real("stop", 1);
  const int64_t count = call.attributes().integer("num", 50);
  const DType dtype = call.attributes().dtype("dtype").value_or(DType::Float32);
  if (count < 0) throw Error(ErrorCode::Shape, "num must not be negative");
  if (!is_float(dtype)) throw Error(ErrorCode::DType, "linspace needs a float dtype");
  const int64_t steps = call.attributes().flag("endpoint", true) ? count - 1 : count;
  const double step = steps > 0 ? (stop - start) / static_cast<double>(steps) : 0;
  if (steps <= 0 || steps == count)
    return {sequence(call, count, WeakScalar::of(start), WeakScalar::of(step), dtype)};
  // The last element is the end itself, which the last step misses by its rounding.
  StageBuilder stage(call.trace(), call.name(), {count});
  const DType held = accumulator_of(dtype);
  const Formula i = stage.axis(0);
  const Formula value = i.cast(held) * step + start;
  return {stage.finish(select(i == steps, constant(stage, stop, held), value), dtype)};
}

std::vector<TensorId> eye(OperatorCall& call) {
  const int64_t rows = call.attributes().integer("n_rows"),
                columns = call.attributes().integer("n_cols", rows);
  const DType dtype = call.attributes().dtype("dtype").value_or(DType::Float32);
  StageBuilder stage(call.trace(), call.name(), {rows, columns});
  const Formula hot = stage.axis(0) + call.attributes().integer("k", 0) == stage.axis(1);
  return {stage.finish(select(hot, constant(stage, 1, accumulator_of(dtype)), 0), dtype)};
}

constexpr std::string_view kCreationNone = "none: nothing is differentiable";

const Operator kCreationOperators[] = {
    {"zeros", "(*, shape, dtype='float32')", "-> shape", kCreationNone, zeros},
    {"ones", "(*, shape, dtype='float32')", "-> shape", kCreationNone, ones},
    {"full", "(value, *, shape, dtype=None)", "() -> shape", "the sum of g", full,
     Operator::Results::Created},
    {"zeros_like", "(x, *, dtype=None)", "(...) -> (...)", "zero", zeros_like},
    {"ones_like", "(x, *, dtype=None)", "(...) -> (...)", "zero", ones_like},
    {"full_like", "(x, value, *, dtype=None)", "(...), () -> (...)", "zero; the sum of g",
     full_like},
    {"arange", "(*, start, stop=None, step=1, dtype=None)", "-> (n,)", kCreationNone, arange},
    {"linspace", "(*, start, stop, num=50, endpoint=True, dtype='float32')", "-> (num,)",
     kCreationNone, linspace},
    {"eye", "(*, n_rows, n_cols=None, k=0, dtype='float32')", "-> (n_rows, n_cols)", kCreationNone,
     eye},
};

}  // namespace

std::span<const Operator> creation_operators() { return kCreationOperators; }

}  // namespace adjit::trace
