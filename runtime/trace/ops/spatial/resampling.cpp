// runtime/trace/ops/spatial/resampling.cpp -- resize and upsample: nearest, linear, cubic.
//
// Source positions are exact rationals in the output position: floor(numerator / denominator) is
// quasi-affine, so the derivative of every tap is a gather. Dimensions are resampled one after the
// other.
#include <cmath>
#include <optional>

#include "runtime/process/json.hpp"
#include "runtime/trace/ops/call/operator_call.hpp"
#include "runtime/trace/ops/spatial/families.hpp"
#include "runtime/trace/ops/stages/elementwise.hpp"

namespace adjit::trace {
namespace {

enum class Method { Nearest, Linear, Cubic };
enum class Alignment { HalfPixel, Corners, Asymmetric };

// Output position i lies at (i * scale + offset) / denominator of the input.
struct Position {
  int64_t scale = 1, offset = 0, denominator = 1;
};

// One output is `step` inputs wide.
struct Step {
  int64_t numerator, denominator;
};

Position position_of(int64_t input, int64_t output, Step step, Alignment alignment) {
  switch (alignment) {
    case Alignment::HalfPixel:
      return {Exact(2) * step.numerator, step.numerator - step.denominator,
              Exact(2) * step.denominator};
    case Alignment::Corners:
      return output > 1 ? Position{input - 1, 0, output - 1} : Position{0, 0, 1};
    case Alignment::Asymmetric: return {step.numerator, 0, step.denominator};
  }
  return {};
}

// The inverse of a factor that is a short fraction, as 1.7 and 1 / 3.0 are; nullopt for others.
std::optional<Step> step_of(double factor) {
  constexpr int64_t kLongest = 1000;
  for (int64_t denominator = 1; denominator <= kLongest; ++denominator) {
    const double numerator = std::round(factor * static_cast<double>(denominator));
    if (numerator >= 1 && numerator <= 1e6 &&
        std::abs(numerator / static_cast<double>(denominator) - factor) <= 1e-14 * factor)
      return Step{denominator, static_cast<int64_t>(numerator)};
  }
  return std::nullopt;
}

// x at position `at` along an axis, positions outside taken as the nearest end: each case a
// guarded, affine read.
Formula clamped_read(Trace& trace, const StageBuilder& stage, TensorId x, size_t axis, Formula at) {
  const int64_t extent = shape_of(trace, x)[axis];
  std::vector<Formula> index = output_axes(stage);
  const auto read = [&](Formula inside, Formula position) {
    index[axis] = position;
    return stage.read_where(inside, x, index);
  };
  const Formula below = at < 0, above = at >= extent;
  const Formula inside = at >= 0 && at < extent;
  return select(below, read(below, at.like(0)),
                select(above, read(above, at.like(extent - 1)), read(inside, at)));
}

TensorId resample_nearest(Trace& trace, TensorId x, size_t axis, Shape shape, const Position& p,
                          Alignment alignment) {
  StageBuilder stage(trace, "resize", shape);
  std::vector<Formula> index = output_axes(stage);
  // Half-pixel centres and corners round to the nearest; asymmetric positions round down, as
  // torch's "nearest" does.
  const Formula i = index[axis] * p.scale + p.offset;
  index[axis] = alignment == Alignment::Asymmetric
                    ? floor_div(i, p.denominator)
                    : floor_div(i * 2 + p.denominator, p.denominator * 2);
  return stage.finish(stage.read(x, index), dtype_of(trace, x));
}

TensorId resample_linear(Trace& trace, TensorId x, size_t axis, Shape shape, const Position& p) {
  StageBuilder stage(trace, "resize", shape);
  const DType dtype = dtype_of(trace, x);
  const Formula i = stage.axis(axis) * p.scale + p.offset;
  const Formula left = floor_div(i, p.denominator);
  const Formula share = (i % p.denominator).cast(dtype) / static_cast<double>(p.denominator);
  const Formula a = clamped_read(trace, stage, x, axis, left);
  const Formula b = clamped_read(trace, stage, x, axis, left + 1);
  return stage.finish(a * (1.0 - share) + b * share);
}

// Keys' kernel with a = -0.75, as torch has it.
TensorId resample_cubic(Trace& trace, TensorId x, size_t axis, Shape shape, const Position& p) {
  constexpr double kA = -0.75;
  StageBuilder stage(trace, "resize", shape);
  const DType dtype = dtype_of(trace, x);
  const Formula i = stage.axis(axis) * p.scale + p.offset;
  const Formula left = floor_div(i, p.denominator);
  const Formula t = (i % p.denominator).cast(dtype) / static_cast<double>(p.denominator);
  const auto inner = [&](Formula d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1.0; };
  const auto outer = [&](Formula d) { return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA; };
  const Formula weights[] = {outer(t + 1.0), inner(t), inner(1.0 - t), outer(2.0 - t)};
  std::optional<Formula> total;
  for (int tap = 0; tap < 4; ++tap) {
    const Formula term = clamped_read(trace, stage, x, axis, left + (tap - 1)) * weights[tap];
    total = total ? *total + term : term;
  }
  return stage.finish(*total);
}

// The last dimensions of x (from `first` on) to these extents. An output is extent / size inputs
// wide, or what `steps` (empty, or one a dimension) says.
TensorId resample(OperatorCall& call, size_t first, const Shape& sizes, Method method,
                  Alignment alignment, const std::vector<std::optional<Step>>& steps = {}) {
  Trace& trace = call.trace();
  TensorId x = call.tensor(0);
  if (method != Method::Nearest) {
    require_float(trace, x, "x");
    x = widened(trace, x);
  }
  for (size_t k = 0; k < sizes.size(); ++k) {
    const size_t axis = first + k;
    Shape shape = shape_of(trace, x);
    const int64_t input = shape[axis], output = sizes[k];
    if (input < 1 || output < 1) fail_shape(call, "resizing needs extents of at least 1");
    shape[axis] = output;
    const Step step = (steps.empty() ? std::nullopt : steps[k]).value_or(Step{input, output});
    if (input == output && step.numerator == step.denominator) continue;
    const Position p = position_of(input, output, step, alignment);
    // Twice the last position is what is divided at most.
    static_cast<void>((Exact(output) * p.scale + p.offset + p.denominator) * 2);
    x = method == Method::Nearest  ? resample_nearest(trace, x, axis, shape, p, alignment)
        : method == Method::Linear ? resample_linear(trace, x, axis, shape, p)
                                   : resample_cubic(trace, x, axis, shape, p);
  }
  return astype(trace, x, dtype_of(trace, call.tensor(0)));
}

Method method_of(const std::string& name) {
  if (name.starts_with("nearest")) return Method::Nearest;
  if (name == "linear" || name == "bilinear" || name == "trilinear") return Method::Linear;
  if (name == "cubic" || name == "bicubic") return Method::Cubic;
  throw Error(ErrorCode::Invalid, "there is no resampling method '" + name +
                                      "': nearest, linear, bilinear, trilinear, cubic, bicubic");
}

// "scale_factor" by spatial dimension.
std::vector<double> factors_of(const OperatorCall& call) {
  const size_t spatial = call.rank(0) - 2;
  const Json* factor = call.attributes().find("scale_factor");
  if (!factor) throw Error(ErrorCode::Invalid, "size or scale_factor is missing");
  if (factor->is_array() && factor->size() != spatial)
    throw Error(ErrorCode::Invalid, "scale_factor needs one number per spatial dimension");
  std::vector<double> factors;
  for (size_t k = 0; k < spatial; ++k) {
    const Json& own = factor->is_array() ? (*factor)[k] : *factor;
    if (!own.is_number()) throw Error(ErrorCode::Invalid, "scale_factor holds numbers");
    factors.push_back(own.get<double>());
  }
  return factors;
}

// The spatial dimensions follow (N, C); "size" as given, or the extents times "scale_factor".
Shape sizes_of(const OperatorCall& call) {
  if (call.rank(0) < 3) fail_shape(call, "resizing takes (N, C, H...)");
  const size_t spatial = call.rank(0) - 2;
  if (call.attributes().has("size")) return call.attributes().repeated("size", spatial, 1);
  Shape sizes;
  for (double own : factors_of(call))
    sizes.push_back(extent_of(
        std::floor(static_cast<double>(call.shape(0)[sizes.size() + 2]) * own), "scale_factor"));
  return sizes;
}

std::vector<TensorId> resize(OperatorCall& call) {
  const Method method = method_of(call.attributes().text("method", "bilinear"));
  const std::string mode = call.attributes().text("coordinate_mode", "half_pixel");
  if (mode != "half_pixel" && mode != "align_corners" && mode != "asymmetric")
    throw Error(
        ErrorCode::Invalid,
        "coordinate_mode is 'half_pixel', 'align_corners' or 'asymmetric', not '" + mode + "'");
  const Alignment alignment = mode == "half_pixel"      ? Alignment::HalfPixel
                              : mode == "align_corners" ? Alignment::Corners
                                                        : Alignment::Asymmetric;
  return {resample(call, 2, sizes_of(call), method, alignment)};
}

// torch's: nearest rounds down from asymmetric positions, nearest-exact from centres; a scale
// factor says where outputs lie also where its product with the extent is no integer.
std::vector<TensorId> interpolate(OperatorCall& call) {
  const std::string mode = call.attributes().text("mode", "nearest");
  const Method method = method_of(mode);
  Alignment alignment =
      call.attributes().flag("align_corners", false) ? Alignment::Corners : Alignment::HalfPixel;
  if (method == Method::Nearest && call.attributes().flag("align_corners", false))
    throw Error(ErrorCode::Invalid, "align_corners goes with linear and cubic modes only");
  if (mode == "nearest") alignment = Alignment::Asymmetric;
  const Shape sizes = sizes_of(call);
  std::vector<std::optional<Step>> steps;
  if (!call.attributes().has("size"))
    for (double factor : factors_of(call)) steps.push_back(step_of(factor));
  return {resample(call, 2, sizes, method, alignment, steps)};
}

constexpr std::string_view kResamplingShapes = "(N, C, H...) -> (N, C, H'...)";
constexpr std::string_view kGathers = "each source gathers from the outputs that read it";
constexpr std::string_view kInterpolate =
    "(x, *, size=None, scale_factor=None, mode='nearest', align_corners=False)";

const Operator kResamplingOperators[] = {
    {"image.resize",
     "(x, *, size=None, scale_factor=None, method='bilinear', coordinate_mode='half_pixel')",
     kResamplingShapes, kGathers, resize},
    {"image.upsample", kInterpolate, kResamplingShapes, kGathers, interpolate},
    {"nn.interpolate", kInterpolate, kResamplingShapes, kGathers, interpolate},
    {"nn.upsample", kInterpolate, kResamplingShapes, kGathers, interpolate},
};

}  // namespace

std::span<const Operator> resampling_operators() { return kResamplingOperators; }

}  // namespace adjit::trace
