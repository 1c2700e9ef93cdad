// runtime/trace/ops/network/classification.cpp -- losses over classes: cross_entropy and nll_loss.
//
// The class of a sample is picked by a select under a sum over the classes, not by a data-dependent
// address: the derivative is dense, deterministic and needs no scatter.
#include "runtime/trace/ops/network/families.hpp"
#include "runtime/trace/ops/network/loss.hpp"
#include "runtime/trace/ops/reductions/softmax.hpp"

namespace adjit::trace {
namespace {

struct Classes {
  TensorId logp;    // (N, C, d...) or (C)
  size_t axis = 1;  // of the classes
  int64_t count = 0;
  TensorId weight;  // (C), or none
  DType dtype = DType::Float32;
};

Classes classes_of(OperatorCall& call) {
  Trace& trace = call.trace();
  if (call.has_operand(2)) call.promote({0, 2});
  require_float(trace, call.tensor(0), "input");
  if (call.rank(0) == 0) fail_shape(call, "the input needs a class dimension");
  Classes c;
  c.logp = widened(trace, call.tensor(0));
  c.axis = call.rank(0) == 1 ? 0 : 1;
  c.count = call.shape(0)[c.axis];
  c.dtype = dtype_of(trace, c.logp);
  if (call.has_operand(2)) {
    if (call.shape(2) != Shape{c.count})
      fail_shape(call, "weight needs one element per class: " + to_string(Shape{c.count}));
    c.weight = widened(trace, call.tensor(2));
  }
  return c;
}

Shape sample_shape(Trace& trace, const Classes& c) {
  Shape shape = shape_of(trace, c.logp);
  shape.erase(shape.begin() + static_cast<long>(c.axis));
  return shape;
}

// One stage per sample over its classes: the terms see the class, log p, the class' weight and the
// target.
struct Term {
  Formula own_class, logp, weight, target;
};
TensorId over_classes(Trace& trace, std::string_view name, const Classes& c, TensorId target,
                      const std::function<Formula(const Term&)>& formula) {
  StageBuilder stage(trace, name, sample_shape(trace, c));
  std::vector<Formula> sample = output_axes(stage), point = sample;
  const Formula own = stage.reduce(c.count);
  point.insert(point.begin() + static_cast<long>(c.axis), own);
  const bool probabilities = is_float(dtype_of(trace, target));
  const Formula goal = probabilities ? stage.read(target, point).cast(c.dtype)
                                     : stage.read(target, sample).cast(DType::Int64);
  const Formula weight =
      c.weight.valid() ? stage.read(c.weight, {own}) : constant(stage, 1, c.dtype);
  return stage.finish(CombinerKind::Sum, formula({own, stage.read(c.logp, point), weight, goal}),
                      c.dtype);
}

// The class of every sample that counts, -1 of an ignored one. The class' element of the input is
// read, whatever it is: a class that does not exist is an index out of range, in the gradient too,
// which compares classes only.
TensorId existing(OperatorCall& call, const Classes& c, TensorId target, int64_t ignored) {
  StageBuilder stage(call.trace(), "classes", shape_of(call.trace(), target));
  std::vector<Formula> point = output_axes(stage);
  const Formula own = stage.read(target, point).cast(DType::Int64);
  point.insert(point.begin() + static_cast<long>(c.axis), own);
  const Formula element = stage.read(call.tensor(0), point);
  // Either way the class itself; no algebra knows.
  const Formula found = select(is_nan(element), own, select(element == element, own, -1));
  stage.stop_gradient();
  return stage.finish(select(own == ignored, -1, found));
}

// An ignored sample counts 0.
TensorId counted(Trace& trace, TensorId losses, TensorId classes) {
  StageBuilder stage(trace, "counted", shape_of(trace, losses));
  const Formula loss = stage.read(losses, output_axes(stage));
  return stage.finish(select(stage.read(classes, output_axes(stage)) < 0, 0, loss));
}

// total / the weights of the samples that count.
TensorId averaged(Trace& trace, TensorId losses, TensorId weights) {
  const Reduced all{all_axes(rank_of(trace, losses)), false};
  return map(trace, "mean", {sum(trace, losses, all), sum(trace, weights, all)},
             [](auto e) { return e[0] / e[1]; });
}

std::vector<TensorId> index_loss(OperatorCall& call, const Classes& c, double smoothing) {
  Trace& trace = call.trace();
  if (call.shape(1) != sample_shape(trace, c))
    fail_shape(call,
               "a target of class indices needs the shape " + to_string(sample_shape(trace, c)));
  const TensorId target =
      existing(call, c, call.tensor(1), call.attributes().integer("ignore_index", -100));
  const double even = smoothing / static_cast<double>(std::max<int64_t>(c.count, 1));
  TensorId losses = over_classes(trace, call.name(), c, target, [&](const Term& t) {
    const Formula hit = t.own_class == t.target;
    const Formula cost = -(t.logp * t.weight);
    if (smoothing == 0) return select(hit, cost, 0);
    return select(hit, cost * (1 - smoothing + even), cost * even);
  });
  losses = counted(trace, losses, target);
  if (call.attributes().text("reduction", "mean") != "mean") return {reduced_loss(call, losses)};
  const TensorId weights = over_classes(trace, "weights", c, target, [](const Term& t) {
    return select(t.own_class == t.target, t.weight, 0);
  });
  return {averaged(trace, losses, weights)};
}

std::vector<TensorId> probability_loss(OperatorCall& call, const Classes& c, double smoothing) {
  Trace& trace = call.trace();
  if (call.shape(1) != call.shape(0))
    fail_shape(call, "a target of class probabilities needs the input's shape");
  const double even = smoothing / static_cast<double>(std::max<int64_t>(c.count, 1));
  const TensorId losses = over_classes(trace, call.name(), c, call.tensor(1), [&](const Term& t) {
    return -(t.logp * t.weight * (t.target * (1 - smoothing) + even));
  });
  return {reduced_loss(call, losses)};
}

std::vector<TensorId> rounded(OperatorCall& call, std::vector<TensorId> results) {
  return {astype(call.trace(), results[0], dtype_of(call.trace(), call.tensor(0)))};
}

std::vector<TensorId> cross_entropy(OperatorCall& call) {
  Trace& trace = call.trace();
  Classes c = classes_of(call);
  const double smoothing = call.attributes().real("label_smoothing", 0);
  if (smoothing < 0 || smoothing > 1)
    throw Error(ErrorCode::Invalid, "label_smoothing lies between 0 and 1");
  c.logp = log_softmax(trace, c.logp, c.axis);
  const bool probabilities = is_float(dtype_of(trace, call.tensor(1)));
  if (!probabilities) require_integer(trace, call.tensor(1), "target");
  return rounded(
      call, probabilities ? probability_loss(call, c, smoothing) : index_loss(call, c, smoothing));
}

std::vector<TensorId> nll_loss(OperatorCall& call) {
  const Classes c = classes_of(call);
  require_integer(call.trace(), call.tensor(1), "target");
  return rounded(call, index_loss(call, c, 0));
}

const Operator kClassificationOperators[] = {
    {"nn.cross_entropy",
     "(input, target, weight=None, *, ignore_index=-100, reduction='mean', label_smoothing=0.0)",
     "(N, C, ...), (N, ...) or (N, C, ...), (C,) -> ()", "(softmax(x) - target) / count",
     cross_entropy},
    {"nn.nll_loss", "(input, target, weight=None, *, ignore_index=-100, reduction='mean')",
     "(N, C, ...), (N, ...), (C,) -> ()", "-1 / count at the target's class", nll_loss},
};

}  // namespace

std::span<const Operator> classification_operators() { return kClassificationOperators; }

}  // namespace adjit::trace
