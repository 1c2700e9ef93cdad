// runtime/trace/ops/reductions/normalization.cpp -- batch, layer, group, instance and RMS norms,
// normalize, local response.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/trace/ops/call/operator_call.hpp"
#include "runtime/trace/ops/reductions/families.hpp"
#include "runtime/trace/ops/reductions/reduction.hpp"
#include "runtime/trace/ops/stages/view.hpp"

namespace adjit::trace {
namespace {

// (C,) as (1, C, 1, ...) against a tensor of that rank.
TensorId per_channel(OperatorCall& call, size_t operand, size_t rank) {
  const int64_t channels = call.shape(0)[1];
  if (call.shape(operand) != Shape{channels})
    fail_shape(call, "a per-channel operand needs the shape " + to_string(Shape{channels}));
  Shape stretched(rank - 1, 1);
  stretched[0] = channels;
  return reshape(call.trace(), widened(call.trace(), call.tensor(operand)), stretched);
}

// (x - mean) / sqrt(var + eps): with the weight and bias in one stage.
TensorId normalized(Trace& trace, std::string_view name, TensorId x, TensorId mean,
                    TensorId variance, double eps, Operand weight, Operand bias) {
  std::vector<Operand> operands{x, mean, variance};
  if (weight.given()) operands.push_back(weight);
  if (bias.given()) operands.push_back(bias);
  return map(trace, name, operands, [&](std::span<const Formula> e) {
    Formula y = (e[0] - e[1]) * rsqrt(e[2] + eps);
    if (weight.given()) y = y * e[3];
    if (bias.given()) y = y + e.back();
    return y;
  });
}

// The running value moved towards the batch's; not differentiated.
TensorId updated(OperatorCall& call, size_t operand, TensorId batch, double momentum,
                 double scale) {
  Trace& trace = call.trace();
  const Shape channels{shape_of(trace, batch)[1]};
  if (call.shape(operand) != channels)
    fail_shape(call, "a running value needs the shape " + to_string(channels));
  StageBuilder stage(trace, "running", channels);
  stage.stop_gradient();
  const Formula old = read_broadcast(stage, call.tensor(operand));
  std::vector<Formula> at(rank_of(trace, batch), integer(stage, 0));
  at[1] = stage.axis(0);
  const Formula now = stage.read(batch, at);
  return stage.finish(old * (1 - momentum) + now.cast(old.dtype()) * (momentum * scale),
                      dtype_of(trace, call.tensor(operand)));
}

// Operands: x, running_mean, running_var, weight, bias. Results: y, then the running values when
// given.
std::vector<TensorId> batch_norm(OperatorCall& call) {
  Trace& trace = call.trace();
  require_float(trace, call.tensor(0), "x");
  const size_t rank = call.rank(0);
  if (rank < 2) fail_shape(call, "batch_norm takes (N, C, ...)");
  const bool running = call.has_operand(1) && call.has_operand(2);
  const bool training = call.attributes().flag("training", false);
  if (!running && !training)
    throw Error(ErrorCode::Invalid, "without running_mean and running_var, training must be True");
  const TensorId x = widened(trace, call.tensor(0));
  const double momentum = call.attributes().real("momentum", 0.1);
  TensorId average, spread;
  std::vector<TensorId> updates;
  if (training) {
    Reduced over{{}, true};
    for (size_t k = 0; k < rank; ++k)
      if (k != 1) over.axes.push_back(k);
    average = mean(trace, x, over);
    spread = variance(trace, x, average, over, 0);
    if (running) {
      const double count = static_cast<double>(reduced_count(trace, x, over));
      if (count < 2)
        fail_shape(call, "training needs more than one value per channel for its variance");
      updates = {updated(call, 1, average, momentum, 1),
                 updated(call, 2, spread, momentum, count / (count - 1))};
    }
  } else {
    average = per_channel(call, 1, rank);
    spread = per_channel(call, 2, rank);
    updates = {call.tensor(1), call.tensor(2)};
  }
  const Operand weight = call.has_operand(3) ? Operand(per_channel(call, 3, rank)) : Operand();
  const Operand bias = call.has_operand(4) ? Operand(per_channel(call, 4, rank)) : Operand();
  const TensorId y = normalized(trace, call.name(), x, average, spread,
                                call.attributes().real("eps", 1e-5), weight, bias);
  std::vector<TensorId> results{astype(trace, y, dtype_of(trace, call.tensor(0)))};
  results.insert(results.end(), updates.begin(), updates.end());
  return results;
}

// The trailing dimensions that "normalized_shape" names.
Reduced trailing(const OperatorCall& call) {
  const std::optional<Shape> given = call.attributes().integers("normalized_shape");
  const Shape shape = call.shape(0);
  const size_t count = given ? given->size() : 1;
  Reduced over{{}, true};
  if (count > shape.size() || count == 0 ||
      (given && !std::equal(given->begin(), given->end(), shape.end() - static_cast<long>(count))))
    fail_shape(call, "normalized_shape " + to_string(given.value_or(Shape{})) +
                         " is not what the input ends with");
  for (size_t k = shape.size() - count; k < shape.size(); ++k) over.axes.push_back(k);
  return over;
}

Operand trailing_operand(OperatorCall& call, size_t operand, const Reduced& over) {
  if (!call.has_operand(operand)) return {};
  const Shape shape = call.shape(0);
  const Shape wanted(shape.begin() + static_cast<long>(over.axes[0]), shape.end());
  if (call.shape(operand) != wanted)
    fail_shape(call, "the weight and bias need the shape " + to_string(wanted));
  return widened(call.trace(), call.tensor(operand));
}

std::vector<TensorId> layer_norm(OperatorCall& call) {
  Trace& trace = call.trace();
  require_float(trace, call.tensor(0), "x");
  const Reduced over = trailing(call);
  const TensorId x = widened(trace, call.tensor(0));
  const TensorId average = mean(trace, x, over);
  const TensorId spread = variance(trace, x, average, over, 0);
  const TensorId y =
      normalized(trace, call.name(), x, average, spread, call.attributes().real("eps", 1e-5),
                 trailing_operand(call, 1, over), trailing_operand(call, 2, over));
  return {astype(trace, y, dtype_of(trace, call.tensor(0)))};
}

std::vector<TensorId> rms_norm(OperatorCall& call) {
  Trace& trace = call.trace();
  require_float(trace, call.tensor(0), "x");
  const Reduced over = trailing(call);
  const TensorId x = widened(trace, call.tensor(0));
  const double smallest = dtype_of(trace, x) == DType::Float64
                              ? std::numeric_limits<double>::epsilon()
                              : std::numeric_limits<float>::epsilon();
  const double eps = call.attributes().real("eps", smallest);
  const double count = static_cast<double>(reduced_count(trace, x, over));
  const TensorId squares = reduce_map(trace, "squares", CombinerKind::Sum, x, over,
                                      dtype_of(trace, x), [](Formula e) { return e * e; });
  const Operand weight = trailing_operand(call, 1, over);
  std::vector<Operand> operands{x, squares};
  if (weight.given()) operands.push_back(weight);
  const TensorId y = map(trace, call.name(), operands, [&](std::span<const Formula> e) {
    const Formula scaled = e[0] * rsqrt(e[1] / count + eps);
    return weight.given() ? scaled * e[2] : scaled;
  });
  return {astype(trace, y, dtype_of(trace, call.tensor(0)))};
}

// Groups of channels of one sample share statistics.
TensorId grouped(OperatorCall& call, int64_t groups, double eps) {
  Trace& trace = call.trace();
  require_float(trace, call.tensor(0), "x");
  const Shape shape = call.shape(0);
  if (shape.size() < 2 || groups < 1 || shape[1] % groups != 0)
    fail_shape(call,
               "the channels (dimension 1) must divide into " + std::to_string(groups) + " groups");
  Shape split{shape[0], groups, shape[1] / groups};
  split.insert(split.end(), shape.begin() + 2, shape.end());
  const TensorId x = reshape(trace, widened(trace, call.tensor(0)), split);
  Reduced over{{}, true};
  for (size_t k = 2; k < split.size(); ++k) over.axes.push_back(k);
  const TensorId average = mean(trace, x, over);
  const TensorId spread = variance(trace, x, average, over, 0);
  TensorId y =
      reshape(trace, normalized(trace, call.name(), x, average, spread, eps, {}, {}), shape);
  for (size_t k = 1; k <= 2; ++k) {
    if (!call.has_operand(k)) continue;
    y = map(trace, call.name(), {y, per_channel(call, k, shape.size())},
            [&](auto e) { return k == 1 ? e[0] * e[1] : e[0] + e[1]; });
  }
  return astype(trace, y, dtype_of(trace, call.tensor(0)));
}
std::vector<TensorId> group_norm(OperatorCall& call) {
  return {
      grouped(call, call.attributes().integer("num_groups"), call.attributes().real("eps", 1e-5))};
}
std::vector<TensorId> instance_norm(OperatorCall& call) {
  if (call.rank(0) < 3) fail_shape(call, "instance_norm takes (N, C, ...)");
  return {grouped(call, call.shape(0)[1], call.attributes().real("eps", 1e-5))};
}

// x / max(norm, eps).
std::vector<TensorId> normalize(OperatorCall& call) {
  Trace& trace = call.trace();
  require_float(trace, call.tensor(0), "x");
  const TensorId x = widened(trace, call.tensor(0));
  const Reduced over{{axis_of(call, 0, 1, "dim")}, true};
  const double p = call.attributes().real("p", 2), eps = call.attributes().real("eps", 1e-12);
  const bool largest = std::isinf(p) && p > 0, smallest = std::isinf(p) && p < 0;
  const bool direct = p == 0 || p == 1 || largest || smallest;  // no root is taken
  const TensorId total = reduce_map(trace, "norm",
                                    largest    ? CombinerKind::Max
                                    : smallest ? CombinerKind::Min
                                               : CombinerKind::Sum,
                                    x, over, dtype_of(trace, x), [&](Formula e) {
                                      if (p == 0)
                                        return (e != 0).cast(e.dtype());  // how many are not 0
                                      return p == 2 ? e * e : direct ? abs(e) : power(abs(e), p);
                                    });
  const TensorId y = map(trace, call.name(), {x, total}, [&](auto e) {
    const Formula norm = p == 2 ? sqrt(e[1]) : direct ? e[1] : power(e[1], 1 / p);
    // Not maximum(): at norm 0 its square root has an infinite derivative that the other branch
    // would let through.
    return select(norm <= eps, e[0] / eps, e[0] / norm);
  });
  return {astype(trace, y, dtype_of(trace, call.tensor(0)))};
}

// x / (k + alpha * mean of squares over `size` neighbouring channels) ^ beta.
std::vector<TensorId> local_response_norm(OperatorCall& call) {
  Trace& trace = call.trace();
  require_float(trace, call.tensor(0), "x");
  const int64_t size = call.attributes().integer("size");
  if (call.rank(0) < 3 || size < 1) fail_shape(call, "local_response_norm takes (N, C, H...)");
  const TensorId x = widened(trace, call.tensor(0));
  StageBuilder stage(trace, "squares", shape_of(trace, x));
  std::vector<Formula> index = output_axes(stage);
  index[1] = index[1] + stage.reduce(size) - size / 2;
  stage.between(index[1], 0, shape_of(trace, x)[1]);
  const Formula e = stage.read(x, index);
  const TensorId squares = stage.finish(CombinerKind::Sum, e * e, dtype_of(trace, x));
  const double alpha = call.attributes().real("alpha", 1e-4),
               beta = call.attributes().real("beta", 0.75);
  const double k = call.attributes().real("k", 1);
  const TensorId y = map(trace, call.name(), {x, squares}, [&](auto v) {
    return v[0] * power(v[1] * (alpha / static_cast<double>(size)) + k, -beta);
  });
  return {astype(trace, y, dtype_of(trace, call.tensor(0)))};
}

constexpr std::string_view kSame = "(N, C, ...) -> (N, C, ...)";
constexpr std::string_view kThrough = "through mean and variance";

const Operator kNormalizationOperators[] = {
    {"nn.batch_norm",
     "(x, running_mean=None, running_var=None, weight=None, bias=None, *, training=False, "
     "momentum=0.1, eps=1e-5)",
     "(N, C, ...), (C,)... -> (N, C, ...), and the running values when given",
     "through the batch's mean and variance in training; none to running values", batch_norm},
    {"nn.layer_norm", "(x, weight=None, bias=None, *, normalized_shape, eps=1e-5)",
     "(..., N), (N), (N) -> (..., N)", kThrough, layer_norm},
    {"nn.rms_norm", "(x, weight=None, *, normalized_shape, eps=None)", "(..., N), (N) -> (..., N)",
     "through the mean of squares", rms_norm},
    {"nn.group_norm", "(x, weight=None, bias=None, *, num_groups, eps=1e-5)", kSame, kThrough,
     group_norm},
    {"nn.instance_norm", "(x, weight=None, bias=None, *, eps=1e-5)", kSame, kThrough,
     instance_norm},
    {"nn.normalize", "(x, *, p=2.0, dim=1, eps=1e-12)", "(...) -> (...)", "through the norm",
     normalize},
    {"nn.local_response_norm", "(x, *, size, alpha=1e-4, beta=0.75, k=1.0)", kSame,
     "through the neighbours' squares", local_response_norm},
};

}  // namespace

std::span<const Operator> normalization_operators() { return kNormalizationOperators; }

}  // namespace adjit::trace
