// runtime/trace/ops/creation/random.cpp -- counter-based random numbers: Philox4x32-10 in int64
// arithmetic.
//
// A key is two int64 words of 32 bits; element i of a draw is a function of (key, i) alone, so
// forward and backward see the same numbers without storing them. Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numbers>
#include <string>

#include "runtime/trace/ops/call/operator_call.hpp"
#include "runtime/trace/ops/creation/families.hpp"
#include "runtime/trace/ops/stages/elementwise.hpp"

namespace adjit::trace {
namespace {

constexpr int64_t kLow32 = 0xffffffff;

using Words = std::array<Formula, 4>;

// The product of two words of 32 bits: its int64 bits are exact, the sign bit included.
Formula high(Formula product) { return (product >> 32) & kLow32; }
Formula low(Formula product) { return product & kLow32; }

Words philox(Words c, Formula k0, Formula k1) {
  constexpr int64_t kM0 = 0xD2511F53, kM1 = 0xCD9E8D57, kW0 = 0x9E3779B9, kW1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const Formula p0 = c[0] * kM0, p1 = c[2] * kM1;
    c = {high(p1) ^ c[1] ^ k0, low(p1), high(p0) ^ c[3] ^ k1, low(p0)};
    k0 = (k0 + kW0) & kLow32;
    k1 = (k1 + kW1) & kLow32;
  }
  return c;
}

void require_key(const OperatorCall& call, size_t operand) {
  if (call.shape(operand) != Shape{2} || !is_integer(dtype_of(call.trace(), call.tensor(operand))))
    fail_shape(call, "a key is an integer tensor of shape (2,): make one with random.key(seed)");
}

// The words at the builder's point: the counter is the row-major position and a stream number.
Words words_at(const OperatorCall& call, const StageBuilder& stage, size_t key, const Shape& shape,
               int64_t stream) {
  Formula position = integer(stage, 0);
  for (size_t k = 0; k < shape.size(); ++k) position = position * shape[k] + stage.axis(k);
  const auto word = [&](int64_t k) {
    return low(stage.read(call.tensor(key), {integer(stage, k)}).cast(DType::Int64));
  };
  const Words counter{low(position), high(position), integer(stage, stream), integer(stage, 0)};
  return philox(counter, word(0), word(1));
}

// Random bits that a number of type float32 or float64 takes without rounding.
int bits_of(DType dtype) { return dtype == DType::Float64 ? 53 : 24; }

// A whole number in [0, 2^bits_of(dtype)), as a float.
Formula whole_of(Formula a, Formula b, DType dtype) {
  if (dtype == DType::Float64) return ((a >> 5) * (int64_t{1} << 26) + (b >> 6)).cast(dtype);
  return (a >> 8).cast(DType::Float32);
}

// Uniform in [0, 1).
Formula uniform_of(Formula a, Formula b, DType dtype) {
  return whole_of(a, b, dtype) * std::ldexp(1.0, -bits_of(dtype));
}

Shape drawn_shape(const OperatorCall& call) {
  return call.attributes().integers("shape").value_or(Shape{});
}

DType float_dtype(const OperatorCall& call) {
  const DType dtype = call.attributes().dtype("dtype").value_or(DType::Float32);
  if (!is_float(dtype)) throw Error(ErrorCode::DType, "the dtype must be a float type");
  return dtype;
}

constexpr int64_t kDraw = 0, kSplit = 1;

// The words of a seed.
std::vector<TensorId> key(OperatorCall& call) {
  const std::optional<WeakScalar>& literal = call.operand(0).scalar;
  if (literal ? literal->kind == WeakScalar::Kind::Float
              : is_float(dtype_of(call.trace(), call.tensor(0))))
    throw Error(ErrorCode::DType, "a seed is an integer in [-2^63, 2^63)");
  StageBuilder stage(call.trace(), call.name(), {2});
  const Formula seed =
      literal ? integer(stage, literal->integer)
              : stage.read(call.tensor(0), std::span<const Formula>()).cast(DType::Int64);
  return {stage.finish(select(stage.axis(0) == 0, low(seed), high(seed)))};
}

std::vector<TensorId> split_key(OperatorCall& call) {
  require_key(call, 0);
  const int64_t count = call.attributes().integer("num", 2);
  StageBuilder stage(call.trace(), call.name(), {count, 2});
  const Formula which = stage.axis(1);
  // Both words of a new key come from one counter: the position is the key's number.
  const Words counter{stage.axis(0), integer(stage, 0), integer(stage, kSplit), integer(stage, 0)};
  const auto word = [&](int64_t k) {
    return low(stage.read(call.tensor(0), {integer(stage, k)}).cast(DType::Int64));
  };
  const Words words = philox(counter, word(0), word(1));
  return {stage.finish(select(which == 0, words[0], words[1]))};
}

std::vector<TensorId> bits(OperatorCall& call) {
  require_key(call, 0);
  const Shape shape = drawn_shape(call);
  StageBuilder stage(call.trace(), call.name(), shape);
  return {stage.finish(words_at(call, stage, 0, shape, kDraw)[0])};
}

struct FloatFormat {
  int digits;  // significant bits
  int least;   // exponent of the least step between numbers that are not flushed to zero
  double max;
};
FloatFormat format_of(DType dtype) {
  switch (dtype) {
    case DType::Float16: return {11, -24, 65504};
    case DType::BFloat16: return {8, -126, 0x1.fep127};
    case DType::Float32: return {24, -126, 0x1.fffffep127};
    default: return {53, -1022, 0x1.fffffffffffffp1023};
  }
}

// The numbers (first + k) * 2^exponent, k in [0, count).
struct Grid {
  int exponent;
  double first;
  double count;
};

// The multiples in [low, high) of one power of two: the least for which all are numbers of the type
// and there are no more than bits_of(the type) can tell apart. Equally spaced numbers that need no
// rounding are equally likely, and none is rounded up to `high`.
Grid grid_of(double low, double high, const FloatFormat& format) {
  int magnitude = 0;
  if (std::frexp(std::max(std::abs(low), std::abs(high)), &magnitude) == 0.5) --magnitude;
  Grid grid{std::max(magnitude - format.digits, format.least), 0, 0};
  const auto at_least = [&](double bound) {  // the first multiple that is not below it
    const double k = std::ceil(std::ldexp(bound, -grid.exponent));
    return std::ldexp(k, grid.exponent) < bound ? k + 1 : k;  // where the quotient underflows
  };
  for (;; ++grid.exponent) {
    grid.first = at_least(low);
    grid.count = at_least(high) - grid.first;
    if (grid.count <= std::ldexp(1.0, format.digits)) return grid;
  }
}

std::string shortest(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

// The interval of a call as a grid. No number in it, or numbers beyond the dtype's, is an error.
Grid drawn_grid(const OperatorCall& call, DType dtype) {
  const double low = call.attributes().real("minval", 0),
               high = call.attributes().real("maxval", 1);
  const std::string interval = "[" + shortest(low) + ", " + shortest(high) + ")";
  if (!std::isfinite(low) || !std::isfinite(high) || low > high)
    throw Error(
        ErrorCode::Invalid,
        "minval and maxval are finite and minval does not exceed maxval; they are " + interval);
  const FloatFormat format = format_of(dtype);
  const Grid grid = grid_of(low, high, format);
  const double last = std::ldexp(grid.first + std::max(grid.count - 1, 0.0), grid.exponent);
  if (std::max(std::abs(low), std::abs(last)) > format.max)
    throw Error(ErrorCode::Invalid,
                interval + " exceeds the range of " + std::string(name_of(dtype)));
  if (grid.count < 1 && low < high)
    throw Error(ErrorCode::Invalid, "there is no number of type " + std::string(name_of(dtype)) +
                                        " in " + interval + ": draw a wider interval, or float64");
  return grid;
}

std::vector<TensorId> uniform(OperatorCall& call) {
  require_key(call, 0);
  const Shape shape = drawn_shape(call);
  const DType dtype = float_dtype(call), held = accumulator_of(dtype);
  const Grid grid = drawn_grid(call, dtype);
  StageBuilder stage(call.trace(), call.name(), shape);
  if (grid.count < 1)
    return {stage.finish(constant(stage, call.attributes().real("minval", 0), held), dtype)};
  const Words w = words_at(call, stage, 0, shape, kDraw);
  Formula k = whole_of(w[0], w[1], held);
  // Below `count` after rounding too: k is at most 2^bits - 1.
  const double scale = std::ldexp(grid.count, -bits_of(held));
  if (scale != 1) k = floor(k * scale);
  if (grid.first != 0) k = k + grid.first;
  return {stage.finish(k * std::ldexp(1.0, grid.exponent), dtype)};
}

// Box and Muller; 1 - u lies in (0, 1], so that the logarithm is finite.
std::vector<TensorId> normal(OperatorCall& call) {
  require_key(call, 0);
  const Shape shape = drawn_shape(call);
  const DType dtype = float_dtype(call), held = accumulator_of(dtype);
  StageBuilder stage(call.trace(), call.name(), shape);
  const Words w = words_at(call, stage, 0, shape, kDraw);
  const Formula radius = sqrt(log(1.0 - uniform_of(w[0], w[1], held)) * -2.0);
  const Formula angle = uniform_of(w[2], w[3], held) * (2 * std::numbers::pi);
  return {stage.finish(radius * cos(angle), dtype)};
}

std::vector<TensorId> bernoulli(OperatorCall& call) {
  require_key(call, 0);
  const Shape shape = drawn_shape(call);
  const double p = call.attributes().real("p", 0.5);
  if (!(p >= 0 && p <= 1)) throw Error(ErrorCode::Invalid, "p lies between 0 and 1");
  StageBuilder stage(call.trace(), call.name(), shape);
  const Words w = words_at(call, stage, 0, shape, kDraw);
  return {stage.finish(uniform_of(w[0], w[1], DType::Float64) < p)};
}

// Kept elements are scaled by 1 / (1 - p); the mask is drawn again in the backward.
std::vector<TensorId> dropout(OperatorCall& call) {
  Trace& trace = call.trace();
  const TensorId x = call.tensor(0);
  require_float(trace, x, "x");
  const double p = call.attributes().real("p", 0.5);
  if (!(p >= 0 && p <= 1)) throw Error(ErrorCode::Invalid, "p lies between 0 and 1");
  if (p == 0 || !call.attributes().flag("training", true)) return {x};
  if (!call.has_operand(1))
    throw Error(ErrorCode::Invalid,
                "dropout in training needs key=: make one with random.key(seed)");
  require_key(call, 1);
  const Shape shape = shape_of(trace, x);
  StageBuilder stage(trace, call.name(), shape);
  const Words w = words_at(call, stage, 1, shape, kDraw);
  const Formula value = stage.read(x, output_axes(stage));
  const Formula kept = uniform_of(w[0], w[1], DType::Float32) >= p;
  const double scale = p < 1 ? 1 / (1 - p) : 0;
  return {stage.finish(select(kept, value * scale, 0), dtype_of(trace, x))};
}

constexpr std::string_view kRandomNone = "none: a draw is a constant";

const Operator kRandomOperators[] = {
    {"random.key", "(seed)", "() -> (2,) int64", kRandomNone, key},
    {"random.split", "(key, *, num=2)", "(2,) -> (num, 2)", kRandomNone, split_key},
    {"random.bits", "(key, *, shape)", "(2,) -> shape, int64 in [0, 2^32)", kRandomNone, bits},
    {"random.uniform", "(key, *, shape, dtype='float32', minval=0.0, maxval=1.0)",
     "(2,) -> shape, in [minval, maxval)", kRandomNone, uniform},
    {"random.normal", "(key, *, shape, dtype='float32')", "(2,) -> shape", kRandomNone, normal},
    {"random.bernoulli", "(key, *, p=0.5, shape=None)", "(2,) -> shape, bool", kRandomNone,
     bernoulli},
    {"nn.dropout", "(x, key=None, *, p, training=True)", "(...), (2,) -> (...)",
     "g / (1 - p) where kept", dropout},
};

}  // namespace

std::span<const Operator> random_operators() { return kRandomOperators; }

}  // namespace adjit::trace
