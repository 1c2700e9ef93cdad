// runtime/trace/ops/elementwise/activation.cpp -- torch.nn.functional's activations: one formula
// each.
//
// A kink takes torch's side: the derivative at the kink is the one of the branch whose condition
// holds there.
#include <cmath>
#include <numbers>

#include "runtime/trace/ops/call/operator_call.hpp"
#include "runtime/trace/ops/elementwise/families.hpp"
#include "runtime/trace/ops/stages/elementwise.hpp"
#include "runtime/trace/ops/stages/view.hpp"

namespace adjit::trace {
namespace {

using Elements = std::span<const Formula>;

std::vector<TensorId> activate(OperatorCall& call, const ElementFormula& formula) {
  for (size_t k = 0; k < call.operands().size(); ++k)
    if (call.operand(k).tensor.valid()) require_float(call.trace(), call.tensor(k), "the operand");
  return {map(call.trace(), call.name(), call.operands(), formula)};
}

// NaN passes: the comparison is false for it.
Formula relu_of(Formula x) { return select(x <= 0, 0, x); }
// The derivative is 0 at both bounds.
Formula hard_clip(Formula x, double low, double high) {
  return select(x <= low, low, select(x >= high, high, x));
}
// log(1 + exp(x)) without overflow, its derivative sigmoid(x) everywhere.
Formula softplus_of(Formula x) { return select(x < 0, 0, x) + log1p_exp_below(x); }

std::vector<TensorId> relu(OperatorCall& call) {
  Trace& trace = call.trace();
  if (!is_float(dtype_of(trace, call.tensor(0))))
    return {map(trace, call.name(), call.operands(), [](Elements x) { return maximum(x[0], 0); })};
  return activate(call, [](Elements x) { return relu_of(x[0]); });
}
std::vector<TensorId> relu6(OperatorCall& call) {
  return activate(call, [](Elements x) { return hard_clip(x[0], 0, 6); });
}
std::vector<TensorId> leaky_relu(OperatorCall& call) {
  const double slope = call.attributes().real("negative_slope", 0.01);
  return activate(call, [=](Elements x) { return select(x[0] > 0, x[0], x[0] * slope); });
}
std::vector<TensorId> elu(OperatorCall& call) {
  const double alpha = call.attributes().real("alpha", 1);
  return activate(call, [=](Elements x) { return select(x[0] > 0, x[0], expm1(x[0]) * alpha); });
}
std::vector<TensorId> celu(OperatorCall& call) {
  const double alpha = call.attributes().real("alpha", 1);
  return activate(call,
                  [=](Elements x) { return select(x[0] > 0, x[0], expm1(x[0] / alpha) * alpha); });
}
std::vector<TensorId> selu(OperatorCall& call) {
  constexpr double kAlpha = 1.6732632423543772848170429916717;
  constexpr double kScale = 1.0507009873554804934193349852946;
  return activate(call, [](Elements x) {
    return select(x[0] > 0, x[0] * kScale, expm1(x[0]) * (kAlpha * kScale));
  });
}
std::vector<TensorId> gelu(OperatorCall& call) {
  const std::string approximate = call.attributes().text("approximate", "none");
  if (approximate == "none")
    return activate(call, [](Elements x) {
      return x[0] * 0.5 * (1.0 + erf(x[0] * (1 / std::numbers::sqrt2)));
    });
  if (approximate != "tanh")
    throw Error(ErrorCode::Invalid, "approximate is 'none' or 'tanh', not '" + approximate + "'");
  const double scale = std::sqrt(2 / std::numbers::pi);
  return activate(call, [=](Elements x) {
    const Formula cubic = x[0] + x[0] * x[0] * x[0] * 0.044715;
    return x[0] * 0.5 * (1.0 + tanh(cubic * scale));
  });
}
std::vector<TensorId> silu(OperatorCall& call) {
  return activate(call, [](Elements x) { return x[0] * sigmoid(x[0]); });
}
std::vector<TensorId> mish(OperatorCall& call) {
  return activate(call, [](Elements x) { return x[0] * tanh(softplus_of(x[0])); });
}
std::vector<TensorId> softplus(OperatorCall& call) {
  const double beta = call.attributes().real("beta", 1),
               threshold = call.attributes().real("threshold", 20);
  return activate(call, [=](Elements x) {
    const Formula scaled = x[0] * beta;
    return select(scaled > threshold, x[0], softplus_of(scaled) / beta);
  });
}
std::vector<TensorId> softsign(OperatorCall& call) {
  // From 1 on as 1 - 1 / (1 + |x|), whose derivative does not cancel and which infinity does not
  // make NaN.
  return activate(call, [](Elements x) {
    const Formula size = abs(x[0]), inverse = 1.0 / (size + 1.0), rest = 1.0 - inverse;
    return select(size < 1, x[0] * inverse, select(x[0] < 0, -rest, rest));
  });
}
std::vector<TensorId> logsigmoid(OperatorCall& call) {
  return activate(call,
                  [](Elements x) { return select(x[0] < 0, x[0], 0) - log1p_exp_below(x[0]); });
}
std::vector<TensorId> hardtanh(OperatorCall& call) {
  const double low = call.attributes().real("min_val", -1),
               high = call.attributes().real("max_val", 1);
  if (low > high) throw Error(ErrorCode::Invalid, "min_val exceeds max_val");
  return activate(call, [=](Elements x) { return hard_clip(x[0], low, high); });
}
std::vector<TensorId> hardsigmoid(OperatorCall& call) {
  return activate(call, [](Elements x) { return hard_clip(x[0] + 3.0, 0, 6) / 6.0; });
}
std::vector<TensorId> hardswish(OperatorCall& call) {
  return activate(call, [](Elements x) {
    return select(x[0] <= -3, 0, select(x[0] >= 3, x[0], x[0] * (x[0] + 3.0) / 6.0));
  });
}
std::vector<TensorId> hardshrink(OperatorCall& call) {
  const double lambda = call.attributes().real("lambd", 0.5);
  return activate(call, [=](Elements x) { return select(abs(x[0]) <= lambda, 0, x[0]); });
}
std::vector<TensorId> softshrink(OperatorCall& call) {
  const double lambda = call.attributes().real("lambd", 0.5);
  return activate(call, [=](Elements x) {
    return select(x[0] > lambda, x[0] - lambda, select(x[0] < -lambda, x[0] + lambda, x[0] * 0.0));
  });
}
std::vector<TensorId> tanhshrink(OperatorCall& call) {
  return activate(call, [](Elements x) { return x[0] - tanh(x[0]); });
}
std::vector<TensorId> threshold(OperatorCall& call) {
  const double at = call.attributes().real("threshold", 0),
               value = call.attributes().real("value", 0);
  return activate(call, [=](Elements x) { return select(x[0] <= at, value, x[0]); });
}

// The slope belongs to dimension 1, or to all elements.
std::vector<TensorId> prelu(OperatorCall& call) {
  Trace& trace = call.trace();
  require_float(trace, call.tensor(0), "x");
  const Shape shape = call.shape(0);
  TensorId slope = call.tensor(1);
  if (call.rank(1) > 1) fail_shape(call, "the weight of prelu is a vector or a scalar");
  if (element_count(call.shape(1)) != 1) {
    if (shape.size() < 2 || shape[1] != call.shape(1)[0])
      fail_shape(call, "the weight of prelu has one element, or one per channel (dimension 1)");
    Shape stretched(shape.size() - 1, 1);
    stretched[0] = shape[1];
    slope = reshape(trace, slope, stretched);
  } else {
    slope = reshape(trace, slope, {});
  }
  return {map(trace, call.name(), {call.tensor(0), slope},
              [](Elements x) { return select(x[0] > 0, x[0], x[0] * x[1]); })};
}

// The first half of an axis, gated by the second.
std::vector<TensorId> glu(OperatorCall& call) {
  Trace& trace = call.trace();
  require_float(trace, call.tensor(0), "x");
  const size_t axis = axis_of(call, 0, -1, "dim");
  Shape shape = call.shape(0);
  if (shape[axis] % 2 != 0) fail_shape(call, "glu halves an axis: its extent must be even");
  shape[axis] /= 2;
  StageBuilder stage(trace, call.name(), shape);
  std::vector<Formula> index = output_axes(stage);
  const Formula value = stage.read(call.tensor(0), index);
  index[axis] = index[axis] + shape[axis];
  return {stage.finish(value * sigmoid(stage.read(call.tensor(0), index)),
                       dtype_of(trace, call.tensor(0)))};
}

constexpr std::string_view kActivationShapes = "(...) -> (...)";

const Operator kActivationOperators[] = {
    {"nn.relu", "(x)", kActivationShapes, "g where x > 0, 0 at 0", relu},
    {"nn.relu6", "(x)", kActivationShapes, "g where 0 < x < 6", relu6},
    {"nn.leaky_relu", "(x, *, negative_slope=0.01)", kActivationShapes,
     "g, times the slope where x <= 0", leaky_relu},
    {"nn.prelu", "(x, weight)", "(N, C, ...), (C,) or () -> (N, C, ...)",
     "as leaky_relu; g x summed over the other axes where x <= 0", prelu},
    {"nn.elu", "(x, *, alpha=1.0)", kActivationShapes, "g where x > 0, else g alpha exp(x)", elu},
    {"nn.celu", "(x, *, alpha=1.0)", kActivationShapes, "g where x > 0, else g exp(x / alpha)",
     celu},
    {"nn.selu", "(x)", kActivationShapes, "g scale where x > 0, else g scale alpha exp(x)", selu},
    {"nn.gelu", "(x, *, approximate='none')", kActivationShapes, "g (Phi(x) + x phi(x))", gelu},
    {"nn.silu", "(x)", kActivationShapes, "g s (1 + x (1 - s)) with s = sigmoid(x)", silu},
    {"nn.mish", "(x)", kActivationShapes, "by the chain rule", mish},
    {"nn.softplus", "(x, *, beta=1, threshold=20)", kActivationShapes, "g sigmoid(beta x)",
     softplus},
    {"nn.softsign", "(x)", kActivationShapes, "g / (1 + |x|)^2", softsign},
    {"nn.logsigmoid", "(x)", kActivationShapes, "g sigmoid(-x)", logsigmoid},
    {"nn.hardtanh", "(x, *, min_val=-1.0, max_val=1.0)", kActivationShapes, "g strictly inside",
     hardtanh},
    {"nn.hardsigmoid", "(x)", kActivationShapes, "g / 6 where -3 < x < 3", hardsigmoid},
    {"nn.hardswish", "(x)", kActivationShapes, "g (x / 3 + 1/2) where -3 < x < 3, g above",
     hardswish},
    {"nn.hardshrink", "(x, *, lambd=0.5)", kActivationShapes, "g where |x| > lambd", hardshrink},
    {"nn.softshrink", "(x, *, lambd=0.5)", kActivationShapes, "g where |x| > lambd", softshrink},
    {"nn.tanhshrink", "(x)", kActivationShapes, "g tanh(x)^2", tanhshrink},
    {"nn.threshold", "(x, *, threshold, value)", kActivationShapes, "g where x > threshold",
     threshold},
    {"nn.glu", "(x, *, dim=-1)", "(..., 2 N) -> (..., N)", "to value and gate", glu},
};

}  // namespace

std::span<const Operator> activation_operators() { return kActivationOperators; }

}  // namespace adjit::trace
