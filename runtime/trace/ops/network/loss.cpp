// runtime/trace/ops/network/loss.cpp -- torch.nn.functional's losses of two tensors, element by
// element.
#include <limits>

#include "runtime/trace/ops/network/families.hpp"
#include "runtime/trace/ops/network/loss.hpp"
#include "runtime/trace/ops/reductions/softmax.hpp"

namespace adjit::trace {

TensorId reduced_loss(OperatorCall& call, TensorId losses) {
  Trace& trace = call.trace();
  const std::string how = call.attributes().text("reduction", "mean");
  const Reduced all{all_axes(rank_of(trace, losses)), false};
  if (how == "none") return losses;
  if (how == "sum") return sum(trace, losses, all);
  if (how == "mean") return mean(trace, losses, all);
  if (how == "batchmean" && call.name() == "nn.kl_div" && rank_of(trace, losses) > 0) {
    const double batch = static_cast<double>(shape_of(trace, losses)[0]);
    return map(trace, call.name(), {sum(trace, losses, all), batch},
               [](auto e) { return e[0] / e[1]; });
  }
  throw Error(ErrorCode::Invalid, "reduction is 'mean', 'sum' or 'none', not '" + how + "'");
}

namespace {

using Elements = std::span<const Formula>;

std::vector<TensorId> elementwise_loss(OperatorCall& call, const ElementFormula& formula) {
  Trace& trace = call.trace();
  std::vector<Operand> operands;
  for (const Operand& o : call.operands())
    if (o.given()) operands.push_back(o.tensor.valid() ? Operand(widened(trace, o.tensor)) : o);
  const DType dtype = common_dtype(trace, call.operands());
  if (!is_float(dtype)) throw Error(ErrorCode::DType, "a loss needs float types: cast with astype");
  return {astype(trace, reduced_loss(call, map(trace, call.name(), operands, formula)), dtype)};
}

std::vector<TensorId> mse_loss(OperatorCall& call) {
  return elementwise_loss(call, [](Elements e) { return (e[0] - e[1]) * (e[0] - e[1]); });
}
std::vector<TensorId> l1_loss(OperatorCall& call) {
  return elementwise_loss(call, [](Elements e) { return abs(e[0] - e[1]); });
}
std::vector<TensorId> smooth_l1_loss(OperatorCall& call) {
  const double beta = call.attributes().real("beta", 1);
  if (beta < 0) throw Error(ErrorCode::Invalid, "beta must not be negative");
  return elementwise_loss(call, [=](Elements e) {
    const Formula d = e[0] - e[1];
    if (beta == 0) return abs(d);
    return select(abs(d) < beta, d * d * (0.5 / beta), abs(d) - 0.5 * beta);
  });
}
std::vector<TensorId> huber_loss(OperatorCall& call) {
  const double delta = call.attributes().real("delta", 1);
  if (!(delta > 0)) throw Error(ErrorCode::Invalid, "delta must be positive");
  return elementwise_loss(call, [=](Elements e) {
    const Formula d = e[0] - e[1];
    return select(abs(d) < delta, d * d * 0.5, (abs(d) - 0.5 * delta) * delta);
  });
}
// Logarithms are kept above -100, as torch keeps them.
std::vector<TensorId> binary_cross_entropy(OperatorCall& call) {
  const bool weighted = call.has_operand(2);
  return elementwise_loss(call, [=](Elements e) {
    const Formula p = maximum(log(e[0]), -100.0), q = maximum(log1p(-e[0]), -100.0);
    const Formula loss = -(e[1] * p + (1.0 - e[1]) * q);
    return weighted ? loss * e[2] : loss;
  });
}
// max(x, 0) - x t + log(1 + exp(-|x|)): stable for every x, an infinite one too.
std::vector<TensorId> binary_cross_entropy_with_logits(OperatorCall& call) {
  const bool weighted = call.has_operand(2), balanced = call.has_operand(3);
  return elementwise_loss(call, [=](Elements e) {
    const Formula x = e[0], t = e[1];
    const Formula tail = log1p_exp_below(x);
    Formula loss = select(x < 0, -(x * t), x * (1.0 - t)) + tail;
    if (balanced) {
      const Formula positive = (e.back() - 1.0) * t + 1.0;
      loss = (1.0 - t) * x + positive * (tail + select(x < 0, -x, 0));
    }
    return weighted ? loss * e[2] : loss;
  });
}
std::vector<TensorId> kl_div(OperatorCall& call) {
  const bool logarithmic = call.attributes().flag("log_target", false);
  return elementwise_loss(call, [=](Elements e) {
    if (logarithmic) return exp(e[1]) * (e[1] - e[0]);
    return select(e[1] == 0, 0, e[1] * log(e[1])) - e[1] * e[0];
  });
}

std::vector<TensorId> cosine_similarity(OperatorCall& call) {
  Trace& trace = call.trace();
  call.promote({0, 1});
  const TensorId operands[] = {widened(trace, call.tensor(0)), widened(trace, call.tensor(1))};
  const Shape shape = common_shape(trace, call.operands());
  const Reduced over{{normalized_axis(call.attributes().integer("dim", 1), shape.size(), "dim")},
                     false};
  const DType dtype = dtype_of(trace, operands[0]);
  const double eps = call.attributes().real("eps", 1e-8);
  const auto total = [&](size_t a, size_t b) {
    return reduce_map(trace, "dot", CombinerKind::Sum, operands, over, dtype,
                      [=](Elements e) { return e[a] * e[b]; });
  };
  const TensorId y =
      map(trace, call.name(), {total(0, 1), total(0, 0), total(1, 1)},
          [=](Elements e) { return e[0] / (maximum(sqrt(e[1]), eps) * maximum(sqrt(e[2]), eps)); });
  return {astype(trace, y, dtype_of(trace, call.tensor(0)))};
}

constexpr std::string_view kLossShapes = "(...), (...) -> (), or (...) for reduction='none'";
constexpr std::string_view kPair = "(input, target, *, reduction='mean')";

const Operator kLossOperators[] = {
    {"nn.mse_loss", kPair, kLossShapes, "2 (x - t) / count; its negative", mse_loss},
    {"nn.l1_loss", kPair, kLossShapes, "sign(x - t) / count; its negative", l1_loss},
    {"nn.smooth_l1_loss", "(input, target, *, reduction='mean', beta=1.0)", kLossShapes,
     "(x - t) / beta inside, sign outside", smooth_l1_loss},
    {"nn.huber_loss", "(input, target, *, reduction='mean', delta=1.0)", kLossShapes,
     "x - t inside, delta sign outside", huber_loss},
    {"nn.binary_cross_entropy", "(input, target, weight=None, *, reduction='mean')", kLossShapes,
     "(x - t) / (x (1 - x))", binary_cross_entropy},
    {"nn.binary_cross_entropy_with_logits",
     "(input, target, weight=None, pos_weight=None, *, reduction='mean')", kLossShapes,
     "sigmoid(x) - t", binary_cross_entropy_with_logits},
    {"nn.kl_div", "(input, target, *, reduction='mean', log_target=False)", kLossShapes,
     "-t; log t + 1 - x", kl_div},
    {"nn.cosine_similarity", "(x1, x2, *, dim=1, eps=1e-8)", "(..., N), (..., N) -> (...)",
     "by the chain rule", cosine_similarity},
};

}  // namespace

std::span<const Operator> loss_operators() { return kLossOperators; }

}  // namespace adjit::trace
