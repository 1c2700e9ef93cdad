// runtime/trace/ops/elementwise/selection.cpp -- elementwise functions that choose: where, clip,
// lerp, masked_fill.
#include "runtime/trace/ops/call/operator_call.hpp"
#include "runtime/trace/ops/elementwise/families.hpp"
#include "runtime/trace/ops/stages/elementwise.hpp"

namespace adjit::trace {
namespace {

TensorId choose(OperatorCall& call, const Operand& condition, const Operand& a, const Operand& b) {
  Trace& trace = call.trace();
  const Operand branches[] = {a, b}, all[] = {condition, a, b};
  const Operand tests[] = {condition};
  if (common_dtype(trace, tests) != DType::Bool)
    throw Error(ErrorCode::DType, "the condition must be bool: compare it with something");
  const DType dtype = common_dtype(trace, branches);
  StageBuilder stage(trace, call.name(), common_shape(trace, all));
  const Formula test = element(trace, stage, condition, DType::Bool);
  return stage.finish(
      select(test, element(trace, stage, a, dtype), element(trace, stage, b, dtype)), dtype);
}

std::vector<TensorId> where(OperatorCall& call) {
  return {choose(call, call.operand(0), call.operand(1), call.operand(2))};
}
std::vector<TensorId> masked_fill(OperatorCall& call) {
  return {choose(call, call.operand(1), call.operand(2), call.operand(0))};
}

// At a bound the value itself is taken, so that its gradient passes (torch's convention).
std::vector<TensorId> clip(OperatorCall& call) {
  const bool low = call.has_operand(1), high = call.has_operand(2);
  std::vector<Operand> operands{call.operand(0)};
  if (low) operands.push_back(call.operand(1));
  if (high) operands.push_back(call.operand(2));
  return {map(call.trace(), call.name(), operands, [=](std::span<const Formula> x) {
    Formula y = x[0];
    if (low) y = select(x[0] < x[1], x[1], y);
    if (high) y = select(x.back() < y, x.back(), y);
    return y;
  })};
}

// From the nearer end: at weight 1 it is `end` itself, however far `start` is.
std::vector<TensorId> lerp(OperatorCall& call) {
  return {map(call.trace(), call.name(), call.operands(), [](std::span<const Formula> x) {
    const Formula step = x[1] - x[0];
    return select(abs(x[2]) < 0.5, x[0] + x[2] * step, x[1] - step * (1.0 - x[2]));
  })};
}

std::vector<TensorId> addcmul(OperatorCall& call) {
  const double value = call.attributes().real("value", 1);
  return {map(call.trace(), call.name(), call.operands(),
              [=](std::span<const Formula> x) { return x[0] + x[1] * x[2] * value; })};
}

const Operator kSelectionOperators[] = {
    {"where", "(condition, x, y)", "(...), (...), (...) -> broadcast",
     "g where the condition holds, else 0; the reverse. A branch not taken never reaches a "
     "gradient",
     where},
    {"masked_fill", "(x, mask, value)", "(...), (...), (...) -> broadcast",
     "g where not masked; the sum of g where masked", masked_fill},
    {"clip", "(x, min=None, max=None)", "(...), (...), (...) -> broadcast",
     "g inside and at the bounds; to a bound where x is beyond it", clip},
    {"lerp", "(start, end, weight)", "(...), (...), (...) -> broadcast",
     "g (1 - w); g w; g (end - start)", lerp},
    {"addcmul", "(x, a, b, *, value=1)", "(...), (...), (...) -> broadcast",
     "g; g value b; g value a", addcmul},
};

}  // namespace

std::span<const Operator> selection_operators() { return kSelectionOperators; }

}  // namespace adjit::trace
