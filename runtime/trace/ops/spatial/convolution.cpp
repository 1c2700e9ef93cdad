// runtime/trace/ops/spatial/convolution.cpp -- convolutions over 1 to 3 spatial dimensions, plain
// and transposed: one stage each.
//
// Padding is not copied: rows of the domain leave out the window positions that would read it.
#include <numeric>

#include "runtime/trace/ops/call/operator_call.hpp"
#include "runtime/trace/ops/spatial/families.hpp"
#include "runtime/trace/ops/spatial/window.hpp"
#include "runtime/trace/ops/stages/elementwise.hpp"
#include "runtime/trace/ops/stages/view.hpp"

namespace adjit::trace {
namespace {

// Where batch, channels and space stand in the data: NCHW..., or channels last.
struct ConvolutionLayout {
  bool channels_last = false;
  size_t spatial = 0;

  size_t channel_axis() const { return channels_last ? spatial + 1 : 1; }
  size_t space_axis(size_t k) const { return channels_last ? k + 1 : k + 2; }
  template <typename T>
  std::vector<T> order(T n, T c, const std::vector<T>& space) const {
    std::vector<T> all{n};
    if (!channels_last) all.push_back(c);
    all.insert(all.end(), space.begin(), space.end());
    if (channels_last) all.push_back(c);
    return all;
  }
};

ConvolutionLayout layout_of(const OperatorCall& call, size_t spatial) {
  static constexpr std::string_view kFirst[] = {"NCW", "NCHW", "NCDHW"};
  static constexpr std::string_view kLast[] = {"NWC", "NHWC", "NDHWC"};
  const std::string name = call.attributes().text("layout", kFirst[spatial - 1]);
  if (name != kFirst[spatial - 1] && name != kLast[spatial - 1])
    throw Error(ErrorCode::Invalid, "layout is '" + std::string(kFirst[spatial - 1]) + "' or '" +
                                        std::string(kLast[spatial - 1]) + "', not '" + name + "'");
  return {name == kLast[spatial - 1], spatial};
}

// x with a batch dimension; torch lets it be missing.
TensorId batched(OperatorCall& call, size_t spatial) {
  if (call.rank(1) != spatial + 2)
    fail_shape(call, "the weight of a convolution over " + std::to_string(spatial) +
                         " dimensions has rank " + std::to_string(spatial + 2));
  if (call.rank(0) == spatial + 2) return call.tensor(0);
  if (call.rank(0) != spatial + 1)
    fail_shape(call, "the input of a convolution over " + std::to_string(spatial) +
                         " dimensions has rank " + std::to_string(spatial + 2));
  const size_t front[] = {0};
  return expand_dims(call.trace(), call.tensor(0), front);
}

TensorId with_bias(OperatorCall& call, TensorId y, const ConvolutionLayout& layout) {
  Trace& trace = call.trace();
  if (!call.has_operand(2)) return y;
  const int64_t channels = shape_of(trace, y)[layout.channel_axis()];
  if (call.shape(2) != Shape{channels})
    fail_shape(call, "the bias needs one element for each of the " + std::to_string(channels) +
                         " output channels");
  Shape stretched(layout.channels_last ? 1 : layout.spatial + 1, 1);
  stretched[0] = channels;
  const TensorId bias =
      stretched.size() == 1 ? call.tensor(2) : reshape(trace, call.tensor(2), stretched);
  return map(trace, "bias_add", {y, bias}, [](auto e) { return e[0] + e[1]; });
}

TensorId unbatched(OperatorCall& call, TensorId y, size_t spatial) {
  const size_t front[] = {0};
  return call.rank(0) == spatial + 2 ? y : squeeze(call.trace(), y, front);
}

Shape space_of(const Shape& shape, const ConvolutionLayout& layout) {
  Shape space;
  for (size_t k = 0; k < layout.spatial; ++k) space.push_back(shape[layout.space_axis(k)]);
  return space;
}

void require_groups(const OperatorCall& call, int64_t groups, int64_t channels,
                    int64_t weight_channels, int64_t divided) {
  if (groups < 1 || channels != Exact(weight_channels) * groups || divided % groups != 0)
    fail_shape(call, "with groups=" + std::to_string(groups) + " the input's " +
                         std::to_string(channels) +
                         " channels and the weight's extents do not fit");
}

// y[n, o, h...] = sum over c, p... of x[n, group(o) * Cg + c, h * stride + p * dilation - pad...] *
// w[o, c, p...].
std::vector<TensorId> convolve(OperatorCall& call, size_t spatial) {
  Trace& trace = call.trace();
  const ConvolutionLayout layout = layout_of(call, spatial);
  const DType dtype = call.promote({0, 1});
  const TensorId x = batched(call, spatial), w = call.tensor(1);
  const Shape in = shape_of(trace, x), weight = shape_of(trace, w);
  require_float(trace, x, "x");
  const int64_t groups = call.attributes().integer("groups", 1);
  require_groups(call, groups, in[layout.channel_axis()], weight[1], weight[0]);
  const std::vector<SlidingWindow> windows = windows_of(
      call, space_of(in, layout), Shape(weight.begin() + 2, weight.end()), Shape(spatial, 1));
  Shape space;
  for (const SlidingWindow& window : windows) space.push_back(window.output);
  StageBuilder stage(trace, call.name(), layout.order(in[0], weight[0], space));
  const Formula n = stage.axis(0), o = stage.axis(layout.channel_axis());
  const Formula c = stage.reduce(weight[1]);
  std::vector<Formula> taps, at, kernel{o, c};
  for (const SlidingWindow& window : windows) taps.push_back(stage.reduce(window.kernel));
  for (size_t k = 0; k < spatial; ++k) {
    at.push_back(windows[k].position(stage.axis(layout.space_axis(k)), taps[k]));
    stage.between(at.back(), 0, windows[k].input);
    kernel.push_back(taps[k]);
  }
  const Formula channel = groups == 1 ? c : floor_div(o, weight[0] / groups) * weight[1] + c;
  const Formula product = stage.read(x, layout.order(n, channel, at)) * stage.read(w, kernel);
  const TensorId y = stage.finish(CombinerKind::Sum, product, dtype);
  return {unbatched(call, with_bias(call, y, layout), spatial)};
}

// y[n, o, h...] = sum over c, p... with (h + pad - p * dilation) = stride * i of x[n, c, i...] *
// w[c, o, p...].
std::vector<TensorId> convolve_transposed(OperatorCall& call, size_t spatial) {
  Trace& trace = call.trace();
  const ConvolutionLayout layout = layout_of(call, spatial);
  const DType dtype = call.promote({0, 1});
  const TensorId x = batched(call, spatial), w = call.tensor(1);
  const Shape in = shape_of(trace, x), weight = shape_of(trace, w);
  require_float(trace, x, "x");
  const int64_t groups = call.attributes().integer("groups", 1),
                channels = in[layout.channel_axis()];
  if (groups < 1 || channels != weight[0] || channels % groups != 0)
    fail_shape(call, "the weight of a transposed convolution is (C, O/groups, ...)");
  const Shape strides = call.attributes().repeated("stride", spatial, 1);
  const Shape padding = call.attributes().repeated("padding", spatial, 0);
  const Shape dilations = call.attributes().repeated("dilation", spatial, 1);
  const Shape extra = call.attributes().repeated("output_padding", spatial, 0);
  Shape space;
  for (size_t k = 0; k < spatial; ++k) {
    const Exact reach = Exact(dilations[k]) * (weight[k + 2] - 1);
    const Exact extent = (Exact(in[layout.space_axis(k)]) - 1) * strides[k] -
                         Exact(2) * padding[k] + reach + extra[k] + 1;
    if (extent < 0 || strides[k] < 1 || dilations[k] < 1)
      fail_shape(call, "the padding removes more than there is");
    space.push_back(extent);
  }
  StageBuilder stage(trace, call.name(),
                     layout.order<int64_t>(in[0], Exact(weight[1]) * groups, space));
  const Formula n = stage.axis(0), o = stage.axis(layout.channel_axis());
  const Formula c = stage.reduce(channels / groups);
  std::vector<Formula> taps, at;
  for (size_t k = 0; k < spatial; ++k) taps.push_back(stage.reduce(weight[k + 2]));
  for (size_t k = 0; k < spatial; ++k) {
    const Formula scaled = stage.axis(layout.space_axis(k)) + padding[k] - taps[k] * dilations[k];
    if (strides[k] > 1) stage.where(scaled % strides[k] == 0);
    at.push_back(floor_div(scaled, strides[k]));
    stage.between(at.back(), 0, in[layout.space_axis(k)]);
  }
  const Formula group = floor_div(o, weight[1]);
  const Formula channel = groups == 1 ? c : group * (channels / groups) + c;
  std::vector<Formula> kernel{channel, groups == 1 ? o : o % weight[1]};
  kernel.insert(kernel.end(), taps.begin(), taps.end());
  const Formula product = stage.read(x, layout.order(n, channel, at)) * stage.read(w, kernel);
  const TensorId y = stage.finish(CombinerKind::Sum, product, dtype);
  return {unbatched(call, with_bias(call, y, layout), spatial)};
}

std::vector<TensorId> conv1d(OperatorCall& call) { return convolve(call, 1); }
std::vector<TensorId> conv2d(OperatorCall& call) { return convolve(call, 2); }
std::vector<TensorId> conv3d(OperatorCall& call) { return convolve(call, 3); }
std::vector<TensorId> conv_transpose1d(OperatorCall& call) { return convolve_transposed(call, 1); }
std::vector<TensorId> conv_transpose2d(OperatorCall& call) { return convolve_transposed(call, 2); }
std::vector<TensorId> conv_transpose3d(OperatorCall& call) { return convolve_transposed(call, 3); }

constexpr std::string_view kConv =
    "(x, w, bias=None, *, stride=1, padding=0, dilation=1, groups=1, layout=None)";
constexpr std::string_view kTransposed =
    "(x, w, bias=None, *, stride=1, padding=0, output_padding=0, groups=1, dilation=1, "
    "layout=None)";
constexpr std::string_view kConvShapes = "(N, C, H...), (O, C/groups, K...), (O,) -> (N, O, H'...)";
constexpr std::string_view kTransposedShapes =
    "(N, C, H...), (C, O/groups, K...), (O,) -> (N, O, H'...)";
constexpr std::string_view kConvGradient =
    "a transposed convolution of g; a correlation of x and g; g summed over all but channels";
constexpr std::string_view kTransposedGradient =
    "a convolution of g; a correlation of g and x; g summed over all but channels";

const Operator kConvolutionOperators[] = {
    {"nn.conv1d", kConv, kConvShapes, kConvGradient, conv1d},
    {"nn.conv2d", kConv, kConvShapes, kConvGradient, conv2d},
    {"nn.conv3d", kConv, kConvShapes, kConvGradient, conv3d},
    {"nn.conv_transpose1d", kTransposed, kTransposedShapes, kTransposedGradient, conv_transpose1d},
    {"nn.conv_transpose2d", kTransposed, kTransposedShapes, kTransposedGradient, conv_transpose2d},
    {"nn.conv_transpose3d", kTransposed, kTransposedShapes, kTransposedGradient, conv_transpose3d},
};

}  // namespace

std::span<const Operator> convolution_operators() { return kConvolutionOperators; }

}  // namespace adjit::trace
