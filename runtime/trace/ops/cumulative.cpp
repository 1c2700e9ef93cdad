// runtime/trace/ops/cumulative.cpp -- running sums, products and extremes: reductions over a
// triangle r <= i.
#include "runtime/trace/ops/elementwise.hpp"
#include "runtime/trace/ops/families.hpp"
#include "runtime/trace/ops/operator_call.hpp"
#include "runtime/trace/ops/view.hpp"

namespace adjit {
namespace {

struct Line {
  size_t axis;
  bool reverse;
};

// axis=None flattens, as NumPy does.
TensorId operand_of(OperatorCall& call, Line& line) {
  line = {0, call.flag("reverse", false)};
  if (!call.has("axis"))
    return call.rank(0) == 1
               ? call.tensor(0)
               : reshape(call.trace(), call.tensor(0), {element_count(call.shape(0))});
  line.axis = call.axis_of(0, 0);
  return call.tensor(0);
}

// result[.., i, ..] = fold over r <= i (r >= i when reversed) of formula(x[.., r, ..], i's own
// point). The first of equal extremes gets the cotangent.
TensorId running(Trace& trace, std::string_view name, CombinerKind kind, TensorId x,
                 const Line& line, DType dtype,
                 const std::function<Formula(const StageBuilder&, Formula)>& formula,
                 bool stop_gradient = false) {
  StageBuilder stage(trace, name, trace.shape(x));
  if (stop_gradient) stage.stop_gradient();
  std::vector<Formula> index = stage.axes();
  const Formula i = index[line.axis];
  const Formula r = stage.reduce(trace.shape(x)[line.axis]);
  index[line.axis] = r;
  stage.where(line.reverse ? r >= i : i >= r);
  return stage.finish(kind, formula(stage, stage.read(x, index)), dtype, Ties::First);
}

std::vector<TensorId> running_fold(OperatorCall& call, CombinerKind kind) {
  Line line{};
  const TensorId x = operand_of(call, line);
  const DType own = call.trace().dtype(x);
  const bool adds = kind == CombinerKind::Sum || kind == CombinerKind::Product;
  const DType dtype = call.dtype("dtype").value_or(adds && !is_float(own) ? DType::Int64 : own);
  return {running(call.trace(), call.name(), kind, x, line, dtype,
                  [&](const StageBuilder&, Formula e) { return e.cast(accumulator_of(dtype)); })};
}
std::vector<TensorId> cumsum(OperatorCall& call) { return running_fold(call, CombinerKind::Sum); }
std::vector<TensorId> cumprod(OperatorCall& call) {
  return running_fold(call, CombinerKind::Product);
}
std::vector<TensorId> cummax(OperatorCall& call) { return running_fold(call, CombinerKind::Max); }
std::vector<TensorId> cummin(OperatorCall& call) { return running_fold(call, CombinerKind::Min); }

// The running largest is taken out before exp.
std::vector<TensorId> logcumsumexp(OperatorCall& call) {
  Trace& trace = call.trace();
  Line line{};
  const TensorId given = operand_of(call, line);
  require_float(trace, given, "x");
  const TensorId x = widened(trace, given);
  const DType dtype = trace.dtype(x);
  const TensorId largest = running(
      trace, "cummax", CombinerKind::Max, x, line, dtype,
      [](const StageBuilder&, Formula e) { return e; }, true);
  const TensorId shift =
      map(trace, "shift", {largest}, [](auto e) { return select(is_inf(e[0]), 0, e[0]); });
  const TensorId total = running(trace, "sumexp", CombinerKind::Sum, x, line, dtype,
                                 [&](const StageBuilder& stage, Formula e) {
                                   return exp(e - stage.read(shift, stage.axes()));
                                 });
  const TensorId y =
      map(trace, call.name(), {total, shift}, [](auto e) { return log(e[0]) + e[1]; });
  return {astype(trace, y, trace.dtype(given))};
}

constexpr std::string_view kCumulativeSignature = "(x, *, axis=None, dtype=None, reverse=False)";
constexpr std::string_view kCumulativeShapes = "(...) -> (...); flattened for axis=None";

const Operator kCumulativeOperators[] = {
    {"cumsum", kCumulativeSignature, kCumulativeShapes, "the running sum of g from the other end",
     cumsum},
    {"cumprod", kCumulativeSignature, kCumulativeShapes,
     "products of the others, with zeros counted", cumprod},
    {"cummax", "(x, *, axis=None, reverse=False)", kCumulativeShapes,
     "g to the running largest, the first of equals", cummax},
    {"cummin", "(x, *, axis=None, reverse=False)", kCumulativeShapes,
     "g to the running smallest, the first of equals", cummin},
    {"logcumsumexp", "(x, *, axis=None, reverse=False)", kCumulativeShapes,
     "g weighted by exp(x - y), summed from the other end", logcumsumexp},
};

}  // namespace

std::span<const Operator> cumulative_operators() { return kCumulativeOperators; }

}  // namespace adjit
