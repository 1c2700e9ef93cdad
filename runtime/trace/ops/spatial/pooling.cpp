// runtime/trace/ops/spatial/pooling.cpp -- max and average pools: windows of reduction axes,
// padding left out by rows.
#include <algorithm>
#include <numeric>

#include "runtime/trace/ops/call/operator_call.hpp"
#include "runtime/trace/ops/reductions/reduction.hpp"
#include "runtime/trace/ops/spatial/families.hpp"
#include "runtime/trace/ops/spatial/window.hpp"
#include "runtime/trace/ops/stages/elementwise.hpp"

namespace adjit::trace {
namespace {

// The last `spatial` dimensions are pooled; (N, C) or (C) stand before them.
size_t leading(const OperatorCall& call, size_t spatial) {
  const size_t rank = call.rank(0);
  if (rank != spatial + 1 && rank != spatial + 2)
    fail_shape(call, "a pool over " + std::to_string(spatial) + " dimensions takes rank " +
                         std::to_string(spatial + 1) + " or " + std::to_string(spatial + 2));
  return rank - spatial;
}

std::vector<SlidingWindow> pool_windows(const OperatorCall& call, size_t spatial, size_t first) {
  if (!call.attributes().has("kernel_size"))
    throw Error(ErrorCode::Invalid, "kernel_size is missing");
  const Shape kernels = call.attributes().repeated("kernel_size", spatial, 1);
  const Shape shape = call.shape(0);
  const std::vector<SlidingWindow> windows =
      windows_of(call, Shape(shape.begin() + static_cast<long>(first), shape.end()), kernels,
                 kernels, call.attributes().flag("ceil_mode", false));
  for (const SlidingWindow& w : windows)
    if (w.before > w.kernel / 2 || w.behind > w.kernel / 2)
      throw Error(ErrorCode::Invalid, "the padding of a pool is at most half its kernel");
  return windows;
}

// The stage that folds the windows of x; every window position outside x is left out.
TensorId pool(OperatorCall& call, CombinerKind kind, const std::vector<SlidingWindow>& windows,
              size_t first) {
  Trace& trace = call.trace();
  const TensorId x = call.tensor(0);
  Shape shape = call.shape(0);
  for (size_t k = 0; k < windows.size(); ++k) shape[first + k] = windows[k].output;
  StageBuilder stage(trace, call.name(), shape);
  std::vector<Formula> index = output_axes(stage), taps;
  for (const SlidingWindow& w : windows) taps.push_back(stage.reduce(w.kernel));
  for (size_t k = 0; k < windows.size(); ++k) {
    index[first + k] = windows[k].position(index[first + k], taps[k]);
    stage.between(index[first + k], 0, windows[k].input);
  }
  return stage.finish(kind, stage.read(x, index), accumulator_of(dtype_of(trace, x)), Ties::First);
}

std::vector<TensorId> max_pool(OperatorCall& call, size_t spatial) {
  const size_t first = leading(call, spatial);
  const TensorId y = pool(call, CombinerKind::Max, pool_windows(call, spatial, first), first);
  return {astype(call.trace(), y, dtype_of(call.trace(), call.tensor(0)))};
}

// How many positions of the window at h count along one dimension.
Formula count_along(const SlidingWindow& w, Formula h, bool include_padding) {
  const Formula begin = h * w.stride - w.before;
  const Formula end = minimum(begin + w.kernel, w.input + w.behind);
  if (include_padding) return end - begin;
  return minimum(end, w.input) - maximum(begin, 0);
}

bool always_full(const SlidingWindow& w, bool include_padding) {
  const Exact last = Exact(w.output - 1) * w.stride - w.before + w.kernel;
  return include_padding ? last <= w.input + w.behind : w.before == 0 && last <= w.input;
}

// total / count, the count a constant where every window is full.
TensorId averaged(OperatorCall& call, TensorId total, const std::vector<SlidingWindow>& windows,
                  size_t first) {
  Trace& trace = call.trace();
  const bool include = call.attributes().flag("count_include_pad", true);
  StageBuilder stage(trace, call.name(), shape_of(trace, total));
  const Formula sum = stage.read(total, output_axes(stage));
  if (call.attributes().has("divisor_override")) {
    const int64_t divisor = call.attributes().integer("divisor_override");
    if (divisor == 0) throw Error(ErrorCode::Invalid, "divisor_override must not be 0");
    return stage.finish(sum / divisor);
  }
  Formula count = integer(stage, 1);
  for (size_t k = 0; k < windows.size(); ++k)
    count = always_full(windows[k], include)
                ? count * windows[k].kernel
                : count * count_along(windows[k], stage.axis(first + k), include);
  return stage.finish(sum / count.cast(sum.dtype()));
}

std::vector<TensorId> avg_pool(OperatorCall& call, size_t spatial) {
  Trace& trace = call.trace();
  require_float(trace, call.tensor(0), "x");
  const size_t first = leading(call, spatial);
  const std::vector<SlidingWindow> windows = pool_windows(call, spatial, first);
  const TensorId total = pool(call, CombinerKind::Sum, windows, first);
  return {astype(trace, averaged(call, total, windows, first), dtype_of(trace, call.tensor(0)))};
}

// SlidingWindow i of an adaptive pool: from floor(i * input / output) to ceil((i + 1) * input /
// output).
struct Adaptive {
  int64_t input, output;
  Formula begin(Formula i) const { return floor_div(i * input, output); }
  Formula end(Formula i) const { return floor_div((i + 1) * input + (output - 1), output); }
  // Windows begin at multiples of g / output, g the greatest common divisor; the longest one begins
  // (output - g) / output behind an element.
  int64_t longest() const { return ceil_div(input - std::gcd(input, output), output) + 1; }
};

std::vector<TensorId> adaptive_pool(OperatorCall& call, CombinerKind kind, size_t spatial) {
  Trace& trace = call.trace();
  const TensorId x = call.tensor(0);
  const size_t first = leading(call, spatial);
  if (!call.attributes().has("output_size"))
    throw Error(ErrorCode::Invalid, "output_size is missing");
  const Shape sizes = call.attributes().repeated("output_size", spatial, 1);
  Shape shape = call.shape(0);
  std::vector<Adaptive> pools;
  for (size_t k = 0; k < spatial; ++k) {
    if (sizes[k] < 1 || shape[first + k] < 1)
      fail_shape(call, "an adaptive pool needs extents of at least 1");
    pools.push_back({shape[first + k], sizes[k]});
    static_cast<void>(Exact(pools[k].output) * pools[k].input + pools[k].output);  // as in end()
    shape[first + k] = sizes[k];
  }
  StageBuilder stage(trace, call.name(), shape);
  std::vector<Formula> index = output_axes(stage), taps;
  for (const Adaptive& p : pools) taps.push_back(stage.reduce(p.longest()));
  for (size_t k = 0; k < spatial; ++k) {
    const Formula i = index[first + k];
    index[first + k] = pools[k].begin(i) + taps[k];
    // Where the extents divide, every window has the same length and no row is needed.
    if (pools[k].input % pools[k].output != 0) stage.where(index[first + k] < pools[k].end(i));
  }
  const DType wide = accumulator_of(dtype_of(trace, x));
  const TensorId folded = stage.finish(kind, stage.read(x, index), wide, Ties::First);
  if (kind == CombinerKind::Max) return {astype(trace, folded, dtype_of(trace, x))};
  StageBuilder average(trace, call.name(), shape);
  Formula count = integer(average, 1);
  for (size_t k = 0; k < spatial; ++k) {
    const Formula i = average.axis(first + k);
    count = count * (pools[k].input % pools[k].output == 0
                         ? integer(average, pools[k].input / pools[k].output)
                         : pools[k].end(i) - pools[k].begin(i));
  }
  return {average.finish(average.read(folded, output_axes(average)) / count.cast(wide),
                         dtype_of(trace, x))};
}

std::vector<TensorId> global_pool(OperatorCall& call, CombinerKind kind) {
  Trace& trace = call.trace();
  const TensorId x = call.tensor(0);
  const size_t rank = call.rank(0);
  if (rank < 3) fail_shape(call, "a global pool takes (N, C, H...)");
  Reduced over{{}, true};
  for (size_t k = 2; k < rank; ++k) over.axes.push_back(k);
  if (kind == CombinerKind::Sum) {
    require_float(trace, x, "x");
    return {mean(trace, x, over)};
  }
  if (reduced_count(trace, x, over) == 0) fail_shape(call, "nothing to pool");
  return {reduce_map(
      trace, call.name(), kind, x, over, dtype_of(trace, x), [](Formula e) { return e; },
      Ties::First)};
}

std::vector<TensorId> max_pool1d(OperatorCall& call) { return max_pool(call, 1); }
std::vector<TensorId> max_pool2d(OperatorCall& call) { return max_pool(call, 2); }
std::vector<TensorId> max_pool3d(OperatorCall& call) { return max_pool(call, 3); }
std::vector<TensorId> avg_pool1d(OperatorCall& call) { return avg_pool(call, 1); }
std::vector<TensorId> avg_pool2d(OperatorCall& call) { return avg_pool(call, 2); }
std::vector<TensorId> avg_pool3d(OperatorCall& call) { return avg_pool(call, 3); }
std::vector<TensorId> adaptive_avg_pool1d(OperatorCall& call) {
  return adaptive_pool(call, CombinerKind::Sum, 1);
}
std::vector<TensorId> adaptive_avg_pool2d(OperatorCall& call) {
  return adaptive_pool(call, CombinerKind::Sum, 2);
}
std::vector<TensorId> adaptive_max_pool1d(OperatorCall& call) {
  return adaptive_pool(call, CombinerKind::Max, 1);
}
std::vector<TensorId> adaptive_max_pool2d(OperatorCall& call) {
  return adaptive_pool(call, CombinerKind::Max, 2);
}
std::vector<TensorId> global_avg_pool(OperatorCall& call) {
  return global_pool(call, CombinerKind::Sum);
}
std::vector<TensorId> global_max_pool(OperatorCall& call) {
  return global_pool(call, CombinerKind::Max);
}

constexpr std::string_view kMax =
    "(x, *, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False)";
constexpr std::string_view kAverage =
    "(x, *, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, "
    "divisor_override=None)";
constexpr std::string_view kPoolingShapes = "(N, C, H...) -> (N, C, H'...)";
constexpr std::string_view kToFirst = "g to the first largest of each window";
constexpr std::string_view kShared = "g / count to each element of a window";

const Operator kPoolingOperators[] = {
    {"nn.max_pool1d", kMax, kPoolingShapes, kToFirst, max_pool1d},
    {"nn.max_pool2d", kMax, kPoolingShapes, kToFirst, max_pool2d},
    {"nn.max_pool3d", kMax, kPoolingShapes, kToFirst, max_pool3d},
    {"nn.avg_pool1d", kAverage, kPoolingShapes, kShared, avg_pool1d},
    {"nn.avg_pool2d", kAverage, kPoolingShapes, kShared, avg_pool2d},
    {"nn.avg_pool3d", kAverage, kPoolingShapes, kShared, avg_pool3d},
    {"nn.adaptive_avg_pool1d", "(x, *, output_size)", kPoolingShapes, kShared, adaptive_avg_pool1d},
    {"nn.adaptive_avg_pool2d", "(x, *, output_size)", kPoolingShapes, kShared, adaptive_avg_pool2d},
    {"nn.adaptive_max_pool1d", "(x, *, output_size)", kPoolingShapes, kToFirst,
     adaptive_max_pool1d},
    {"nn.adaptive_max_pool2d", "(x, *, output_size)", kPoolingShapes, kToFirst,
     adaptive_max_pool2d},
    {"nn.global_avg_pool", "(x)", "(N, C, H...) -> (N, C, 1...)", kShared, global_avg_pool},
    {"nn.global_max_pool", "(x)", "(N, C, H...) -> (N, C, 1...)", kToFirst, global_max_pool},
};

}  // namespace

std::span<const Operator> pooling_operators() { return kPoolingOperators; }

}  // namespace adjit::trace
