// runtime/trace/ops/reductions/cumulative.cpp -- running sums, products and extremes: reductions
// over a triangle r <= i.
#include <limits>

#include "runtime/diff/conditions/prefix_reduction.hpp"
#include "runtime/trace/ops/call/operator_call.hpp"
#include "runtime/trace/ops/reductions/families.hpp"
#include "runtime/trace/ops/reductions/reduction.hpp"
#include "runtime/trace/ops/stages/elementwise.hpp"
#include "runtime/trace/ops/stages/view.hpp"

namespace adjit::trace {
namespace {

struct Line {
  size_t axis;
  bool reverse;
};

// axis=None flattens, as NumPy does.
TensorId operand_of(OperatorCall& call, Line& line) {
  line = {0, call.attributes().flag("reverse", false)};
  if (!call.attributes().has("axis"))
    return call.rank(0) == 1
               ? call.tensor(0)
               : reshape(call.trace(), call.tensor(0), {element_count(call.shape(0))});
  line.axis = axis_of(call, 0, 0);
  return call.tensor(0);
}

// result[.., i, ..] = fold over r <= i (r >= i when reversed) of formula(x[.., r, ..], i's own
// point). The first of equal extremes gets the cotangent.
TensorId running(Trace& trace, std::string_view name, CombinerKind kind, TensorId x,
                 const Line& line, DType dtype,
                 const std::function<Formula(const StageBuilder&, Formula)>& formula,
                 bool stop_gradient = false) {
  StageBuilder stage(trace, name, shape_of(trace, x));
  if (stop_gradient) stage.stop_gradient();
  std::vector<Formula> index = output_axes(stage);
  const Formula i = index[line.axis];
  const Formula r = stage.reduce(shape_of(trace, x)[line.axis]);
  index[line.axis] = r;
  stage.where(line.reverse ? r >= i : i >= r);
  return stage.finish(kind, formula(stage, stage.read(x, index)), dtype, Ties::First);
}

std::vector<TensorId> running_fold(OperatorCall& call, CombinerKind kind) {
  Line line{};
  const TensorId x = operand_of(call, line);
  const DType own = dtype_of(call.trace(), x);
  const bool adds = kind == CombinerKind::Sum || kind == CombinerKind::Product;
  const DType dtype = adds ? sum_dtype(call) : own;
  return {running(call.trace(), call.name(), kind, x, line, dtype,
                  [&](const StageBuilder&, Formula e) { return e.cast(accumulator_of(dtype)); })};
}
std::vector<TensorId> cumsum(OperatorCall& call) { return running_fold(call, CombinerKind::Sum); }
std::vector<TensorId> cumprod(OperatorCall& call) {
  return running_fold(call, CombinerKind::Product);
}
std::vector<TensorId> cummax(OperatorCall& call) { return running_fold(call, CombinerKind::Max); }
std::vector<TensorId> cummin(OperatorCall& call) { return running_fold(call, CombinerKind::Min); }

// Of links (slope, rest), each a step s -> slope s + rest, those of a chain one after the other;
// the smaller index is the left one.
Combiner composed_steps(ExprPool& pool, DType dtype, bool reverse) {
  const ExprId left_slope = pool.argument(0, dtype), left_rest = pool.argument(1, dtype);
  const ExprId right_slope = pool.argument(2, dtype), right_rest = pool.argument(3, dtype);
  Combiner combiner;
  combiner.kind = CombinerKind::Custom;
  combiner.combine = {pool.mul(left_slope, right_slope),
                      reverse ? pool.add(pool.mul(left_slope, right_rest), left_rest)
                              : pool.add(pool.mul(right_slope, left_rest), right_rest)};
  combiner.identity = {pool.constant(1, dtype), pool.constant(0, dtype)};
  return combiner;
}

// s(i) = sum over r <= i of exp(x(r) - m(i)) for the running largest m, a constant to the
// derivative: s(i) = exp(m(i-1) - m(i)) s(i-1) + exp(x(i) - m(i)), where no factor is above 1.
// Where everything so far is -inf, or something was inf, 0 stands for m.
TensorId running_sumexp(Trace& trace, TensorId x, TensorId largest, TensorId shift,
                        const Line& line) {
  const DType dtype = dtype_of(trace, x);
  const int64_t count = shape_of(trace, x)[line.axis];
  if (count < kShortestRunning)  // summed as it is defined
    return running(trace, "sumexp", CombinerKind::Sum, x, line, dtype,
                   [&](const StageBuilder& stage, Formula e) {
                     return exp(e - stage.read(shift, output_axes(stage)));
                   });
  StageBuilder stage(trace, "sumexp", shape_of(trace, x));
  std::vector<Formula> here = output_axes(stage);
  const Formula i = here[line.axis], r = stage.reduce(count);
  stage.where(line.reverse ? r >= i : i >= r);
  here[line.axis] = r;
  std::vector<Formula> earlier = here;
  earlier[line.axis] = line.reverse ? r + 1 : r - 1;
  const Formula any = line.reverse ? r < count - 1 : r > 0;
  const Formula before = stage.read_where(any, largest, earlier);
  const Formula started = any && !(is_inf(before) && before < 0);
  const Formula slope = exp(stage.read_where(any, shift, earlier) - stage.read(shift, here));
  const Formula bodies[] = {select(started, slope, 0),
                            exp(stage.read(x, here) - stage.read(shift, here))};
  return stage.finish(composed_steps(trace.pool(), dtype, line.reverse), bodies)[1];
}

std::vector<TensorId> logcumsumexp(OperatorCall& call) {
  Trace& trace = call.trace();
  Line line{};
  const TensorId given = operand_of(call, line);
  require_float(trace, given, "x");
  const TensorId x = widened(trace, given);
  const DType dtype = dtype_of(trace, x);
  const TensorId largest = running(
      trace, "cummax", CombinerKind::Max, x, line, dtype,
      [](const StageBuilder&, Formula e) { return e; }, true);
  const TensorId shift =
      map(trace, "shift", {largest}, [](auto e) { return select(is_inf(e[0]), 0, e[0]); });
  const TensorId total = running_sumexp(trace, x, largest, shift, line);
  // The logarithm of no term at all has no slope that would count.
  const TensorId y = map(trace, call.name(), {total, shift}, [](auto e) {
    const Formula none = e[0] == 0;
    return select(none, -std::numeric_limits<double>::infinity(),
                  log(select(none, 1, e[0])) + e[1]);
  });
  return {astype(trace, y, dtype_of(trace, given))};
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

}  // namespace adjit::trace
