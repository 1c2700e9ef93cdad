// runtime/trace/ops/views/padding.cpp -- pad: constant, edge, reflect, symmetric, wrap.
#include <functional>

#include "runtime/process/json.hpp"
#include "runtime/trace/ops/call/operator_call.hpp"
#include "runtime/trace/ops/stages/view.hpp"
#include "runtime/trace/ops/views/families.hpp"

namespace adjit::trace {
namespace {

struct Widths {
  int64_t before = 0, behind = 0;
};

// NumPy's pad_width: an int, [before, behind] for all, or one pair per dimension.
std::vector<Widths> numpy_widths(const OperatorCall& call) {
  const size_t rank = call.rank(0);
  const Json* given = call.attributes().find("pad_width");
  if (!given) throw Error(ErrorCode::Invalid, "pad_width is missing");
  std::vector<Widths> widths;
  const auto pair = [&](const Json& value) -> Widths {
    if (const std::optional<int64_t> both = integer_of(value)) return {*both, *both};
    if (value.is_array() && value.size() == 2)
      if (const auto before = integer_of(value[0]), behind = integer_of(value[1]); before && behind)
        return {*before, *behind};
    throw Error(ErrorCode::Invalid, "pad_width holds ints or pairs, not " + value.dump());
  };
  if (given->is_array() && !given->empty() && (*given)[0].is_array()) {
    for (const Json& value : *given) widths.push_back(pair(value));
    if (widths.size() == 1) widths.resize(rank, widths[0]);
  } else {
    widths.assign(rank, pair(*given));
  }
  if (widths.size() != rank)
    fail_shape(call, "pad_width has " + std::to_string(widths.size()) +
                         " pairs for a tensor of rank " + std::to_string(rank));
  return widths;
}

// torch's pad: pairs from the last dimension backwards.
std::vector<Widths> torch_widths(const OperatorCall& call) {
  const std::optional<Shape> given = call.attributes().integers("pad");
  if (!given || given->size() % 2 != 0 || given->size() / 2 > call.rank(0))
    fail_shape(call, "pad needs a pair of ints for each of some last dimensions");
  std::vector<Widths> widths(call.rank(0));
  for (size_t k = 0; k < given->size() / 2; ++k)
    widths[call.rank(0) - 1 - k] = {(*given)[2 * k], (*given)[2 * k + 1]};
  return widths;
}

Shape padded_shape(const OperatorCall& call, const std::vector<Widths>& widths) {
  Shape shape = call.shape(0);
  for (size_t k = 0; k < shape.size(); ++k) {
    shape[k] = Exact(shape[k]) + widths[k].before + widths[k].behind;
    if (shape[k] < 0) fail_shape(call, "negative padding removes more than there is");
  }
  return shape;
}

// One stage: a guarded read, and the value where the guard fails. Negative widths cut.
TensorId pad_constant(OperatorCall& call, const std::vector<Widths>& widths,
                      const WeakScalar& value) {
  Trace& trace = call.trace();
  const TensorId x = call.tensor(0);
  const DType dtype = dtype_of(trace, x), held = accumulator_of(dtype);
  const Shape own = shape_of(trace, x);
  StageBuilder stage(trace, call.name(), padded_shape(call, widths));
  std::vector<Formula> index = output_axes(stage);
  Formula inside(trace.pool(), trace.pool().constant_int(1, DType::Bool));
  for (size_t k = 0; k < own.size(); ++k) {
    index[k] = index[k] - widths[k].before;
    if (widths[k].before > 0) inside = inside && index[k] >= 0;
    if (widths[k].behind > 0) inside = inside && index[k] < own[k];
  }
  const Formula element = stage.read_where(inside, x, index);
  if (value.value() == 0) return stage.finish(element, dtype);
  const Formula filler(trace.pool(), to_constant(trace.pool(), value, held));
  return stage.finish(select(inside, element, filler), dtype);
}

// Along one axis the padded line is cut into runs, each an affine walk over the source: a guarded
// read per run.
struct Run {
  int64_t begin, end;   // padded positions
  int64_t start, step;  // source position of `begin`; per position
};

// After how many elements a mirrored line turns.
int64_t period_of(const OperatorCall& call, const std::string& mode, int64_t extent) {
  const int64_t period = mode == "reflect" ? extent - 1 : extent;
  if (period == 0) fail_shape(call, "an axis of extent 1 has nothing to reflect: use mode='edge'");
  return period;
}

std::vector<Run> runs_of(const OperatorCall& call, const std::string& mode, const Widths& widths,
                         int64_t extent) {
  std::vector<Run> runs;
  const int64_t last = extent - 1, total = widths.before + extent + widths.behind;
  if (mode == "edge") {
    if (widths.before > 0) runs.push_back({0, widths.before, 0, 0});
    runs.push_back({widths.before, widths.before + extent, 0, 1});
    if (widths.behind > 0) runs.push_back({widths.before + extent, total, last, 0});
    return runs;
  }
  // reflect and symmetric: position t of the unpadded line lies in run floor(t / period) of
  // alternating direction.
  const int64_t period = period_of(call, mode, extent);
  for (int64_t n = expr::floor_div(-widths.before, period); n * period < extent + widths.behind;
       ++n) {
    const bool forward = floor_mod(n, 2) == 0;
    const int64_t begin = std::max<int64_t>(n * period, -widths.before);
    const int64_t end = std::min((n + 1) * period, extent + widths.behind);
    const int64_t offset = begin - n * period;
    if (begin >= end) continue;
    const int64_t start = forward ? offset : last - offset;
    runs.push_back({begin + widths.before, end + widths.before, start, forward ? 1 : -1});
  }
  return runs;
}

// A line that turns often: the position in two periods, there and back.
TensorId pad_mirrored(OperatorCall& call, TensorId x, size_t axis, const Widths& widths,
                      const std::string& mode) {
  Trace& trace = call.trace();
  Shape shape = shape_of(trace, x);
  const int64_t extent = shape[axis], period = period_of(call, mode, extent);
  const int64_t both = Exact(2) * period;
  shape[axis] = Exact(extent) + widths.before + widths.behind;
  StageBuilder stage(trace, call.name(), shape);
  std::vector<Formula> index = output_axes(stage);
  const Formula at = (index[axis] + floor_mod(-widths.before, both)) % both;
  const Formula there = at < period;
  index[axis] = at;
  const Formula forward = stage.read_where(there, x, index);
  // Reflected lines meet in their last element, symmetric ones repeat it.
  index[axis] = (mode == "reflect" ? both : both - 1) - at;
  const Formula back = stage.read_where(!there, x, index);
  return stage.finish(select(there, forward, back), dtype_of(trace, x));
}

TensorId pad_runs(OperatorCall& call, TensorId x, size_t axis, const Widths& widths,
                  const std::string& mode) {
  Trace& trace = call.trace();
  Shape shape = shape_of(trace, x);
  const int64_t extent = shape[axis];
  constexpr int64_t kMostTurns = 16;
  if (mode != "edge" &&
      (widths.before + widths.behind) / period_of(call, mode, extent) > kMostTurns)
    return pad_mirrored(call, x, axis, widths, mode);
  const std::vector<Run> runs = runs_of(call, mode, widths, extent);
  shape[axis] += widths.before + widths.behind;
  StageBuilder stage(trace, call.name(), shape);
  std::vector<Formula> index = output_axes(stage);
  const Formula i = index[axis];
  std::optional<Formula> padded;
  for (size_t k = runs.size(); k-- > 0;) {
    const Run& run = runs[k];
    index[axis] = (i - run.begin) * run.step + run.start;
    Formula inside = i < run.end;
    if (run.begin > 0) inside = i >= run.begin && inside;
    const Formula value = stage.read_where(inside, x, index);
    padded = padded ? select(i < run.end, value, *padded) : value;
  }
  return stage.finish(*padded, dtype_of(trace, x));
}

TensorId pad_wrap(OperatorCall& call, TensorId x, size_t axis, const Widths& widths) {
  Shape shape = shape_of(call.trace(), x);
  const int64_t extent = shape[axis];
  shape[axis] += widths.before + widths.behind;
  return view(call.trace(), call.name(), x, shape, [&](auto index) {
    std::vector<Formula> from(index.begin(), index.end());
    from[axis] = (from[axis] + floor_mod(-widths.before, extent)) % extent;
    return from;
  });
}

// Other modes are separable: axis by axis.
std::vector<TensorId> pad_with(OperatorCall& call, const std::vector<Widths>& widths,
                               const std::string& mode, const WeakScalar& value) {
  if (mode == "constant") return {pad_constant(call, widths, value)};
  if (mode != "edge" && mode != "reflect" && mode != "symmetric" && mode != "wrap")
    throw Error(ErrorCode::Invalid, "there is no padding mode '" + mode +
                                        "': constant, edge, reflect, symmetric, wrap");
  TensorId x = call.tensor(0);
  padded_shape(call, widths);
  for (size_t axis = 0; axis < widths.size(); ++axis) {
    const Widths& w = widths[axis];
    if (w.before == 0 && w.behind == 0) continue;
    if (w.before < 0 || w.behind < 0)
      throw Error(ErrorCode::Invalid, "negative padding needs mode='constant'");
    if (call.shape(0)[axis] == 0) fail_shape(call, "an empty axis has nothing to repeat");
    x = mode == "wrap" ? pad_wrap(call, x, axis, w) : pad_runs(call, x, axis, w, mode);
  }
  return {x};
}

std::vector<TensorId> pad(OperatorCall& call) {
  return pad_with(call, numpy_widths(call), call.attributes().text("mode", "constant"),
                  call.attributes().scalar("constant_values").value_or(WeakScalar::of(int64_t{0})));
}

std::vector<TensorId> nn_pad(OperatorCall& call) {
  std::string mode = call.attributes().text("mode", "constant");
  if (mode == "replicate") mode = "edge";
  if (mode == "circular") mode = "wrap";
  return pad_with(call, torch_widths(call), mode,
                  call.attributes().scalar("value").value_or(WeakScalar::of(int64_t{0})));
}

constexpr std::string_view kPaddingGradient = "g at the sources, added up where one is repeated";

const Operator kPaddingOperators[] = {
    {"pad", "(x, *, pad_width, mode='constant', constant_values=0)", "extents widened",
     kPaddingGradient, pad},
    {"nn.pad", "(x, *, pad, mode='constant', value=0)", "extents widened, last dimension first",
     kPaddingGradient, nn_pad},
};

}  // namespace

std::span<const Operator> padding_operators() { return kPaddingOperators; }

}  // namespace adjit::trace
