// tests/fuzz/draw/notation_draw.cpp -- random stages in index notation.
#include "tests/fuzz/draw/notation_draw.hpp"
#include "runtime/trace/index_reduction.hpp"
#include "runtime/trace/lowering.hpp"
#include "tests/rooms.hpp"

#include <algorithm>

namespace adjit::testing {

int64_t draw_extent(Random& random, const TensorKinds& kinds) {
  static const std::vector<int64_t> kLong{16, 16, 17, 31, 32, 33, 48, 64, 130, 257};
  if (kinds.long_axes && random.chance(70)) return random.pick(kLong);
  const int64_t kind = random.between(1, 100);
  if (kind <= 2) return 0;
  if (kind <= 12) return 1;
  if (kind <= 30) return 2;
  if (kind <= 42) return 7;
  if (kind <= 46) return random.chance(50) ? 65 : 17;
  if (kind <= 52) return 8;
  return random.between(3, 6);
}

std::vector<int64_t> draw_shape(Random& random, int64_t rank, const TensorKinds& kinds) {
  std::vector<int64_t> shape;
  int64_t elements = 1;
  for (int64_t k = 0; k < rank; ++k) {
    int64_t extent = draw_extent(random, kinds);
    if (elements * extent > kinds.room(400)) extent = random.between(1, 3);
    shape.push_back(extent);
    elements *= extent;
  }
  return shape;
}

std::vector<AxisHandle> NotationDraw::draw_axes(int64_t rank) {
  std::vector<AxisHandle> axes;
  for (int64_t extent : draw_shape(random_, rank, scope_.kinds())) {
    const int64_t low = random_.chance(15) ? random_.between(-2, 2) : 0;
    axes.push_back(add_axis(n_, low, low + extent));
    lows_[axes.back().value] = low;
  }
  return axes;
}

ScalarExpr NotationDraw::number(int64_t low, int64_t high) {
  static const std::vector<int64_t> kLarge{INT64_MAX,
                                           INT64_MIN,
                                           int64_t{1} << 62,
                                           -(int64_t{1} << 62),
                                           int64_t{1} << 61,
                                           (int64_t{1} << 62) + 1,
                                           int64_t{1} << 53,
                                           INT32_MAX,
                                           INT32_MIN,
                                           int64_t{1} << 31,
                                           (int64_t{1} << 32) - 1,
                                           int64_t{1} << 32,
                                           INT64_MAX / 3,
                                           INT64_MIN / 2 - 1};
  const int64_t small = random_.between(low, high);
  if (!has_large_ || !large_.chance(20)) return literal(small);
  int64_t beside = 0;
  if (__builtin_add_overflow(large_.pick(kLarge), large_.between(-3, 3), &beside))
    return literal(small);
  return literal(low > 0 && beside < 0 ? -(beside + 1) : beside);
}

ScalarExpr NotationDraw::affine() {
  if (axes_.empty()) return number(-2, 4);
  ScalarExpr form = axis_value(n_, random_.pick(axes_));
  if (random_.chance(25)) form = apply(n_, Op::Mul, {form, number(-2, 3)});
  if (random_.chance(35))
    form = apply(n_, random_.chance(70) ? Op::Add : Op::Sub,
                 {form, axis_value(n_, random_.pick(axes_))});
  if (random_.chance(50)) form = apply(n_, Op::Add, {form, number(-3, 3)});
  if (random_.chance(12))
    form = apply(n_, random_.chance(50) ? Op::FloorDiv : Op::Mod, {form, number(2, 3)});
  return form;
}

// What brings an index into range by itself: clamped, wrapped, mirrored at its ends, selected.
ScalarExpr NotationDraw::clamped(ScalarExpr at, int64_t extent) {
  const ScalarExpr zero = literal(int64_t{0}), last = literal(extent - 1);
  switch (random_.between(0, 4)) {
    case 0: return apply(n_, Op::Mod, {at, literal(extent)});
    case 1: {  // -1 is 1, the first behind the end is the last but one
      const ScalarExpr once = apply(n_, Op::Abs, {at});
      const ScalarExpr folded =
          apply(n_, Op::Sub, {last, apply(n_, Op::Abs, {apply(n_, Op::Sub, {last, once})})});
      return apply(n_, Op::Min, {apply(n_, Op::Max, {folded, zero}), last});
    }
    case 2: {
      const ScalarExpr inside = apply(
          n_, Op::And, {apply(n_, Op::Le, {zero, at}), apply(n_, Op::Lt, {at, literal(extent)})});
      return select(n_, inside, at, random_.chance(50) ? zero : last);
    }
    case 3: return apply(n_, Op::Max, {apply(n_, Op::Min, {at, last}), zero});
    default: return apply(n_, Op::Min, {apply(n_, Op::Max, {at, zero}), last});
  }
}

ScalarExpr NotationDraw::index(int64_t extent, IndexMode& mode, int depth) {
  std::vector<AxisHandle> fitting;
  for (AxisHandle axis : axes_)
    if (extent_of(n_, axis) == extent) fitting.push_back(axis);
  if (!fitting.empty() && random_.chance(50)) {
    const AxisHandle axis = random_.pick(fitting);
    const ScalarExpr plain = apply(n_, Op::Sub, {axis_value(n_, axis), literal(lows_[axis.value])});
    if (random_.chance(15)) return apply(n_, Op::Sub, {literal(extent - 1), plain});
    return plain;
  }
  ScalarExpr at = affine();
  if (depth > 0 && random_.chance(35)) at = as(element(DType::Int64, depth - 1), DType::Int64);
  if (random_.chance(20)) {
    static constexpr IndexMode kModes[] = {IndexMode::Clip, IndexMode::Wrap, IndexMode::Drop};
    mode = kModes[random_.between(0, 2)];
    return at;
  }
  if (random_.chance(10)) return literal(random_.between(0, extent - 1));
  return clamped(at, extent);
}

ScalarExpr NotationDraw::element_of(TensorId tensor, int depth) {
  scope_.note_use(tensor);
  const std::vector<int64_t> shape = scope_.shape(tensor);
  std::vector<ScalarExpr> indices;
  IndexMode mode = IndexMode::Error;
  std::vector<ScalarExpr> coordinates;
  for (int64_t extent : shape) coordinates.push_back(index(extent, mode, depth));
  // A mode of one index is that of all.
  return read(n_, tensor, coordinates, mode);
}

ScalarExpr NotationDraw::element(DType dtype, int depth) {
  const auto readable = [&](TensorId id) {
    return scope_.value(id).values.size() > 0 && scope_.shape(id).size() <= 4;
  };
  const auto fits = [&](TensorId id) { return scope_.dtype(id) == dtype && readable(id); };
  if (rather_.valid() && fits(rather_) && random_.chance(60)) return element_of(rather_, depth);
  TensorId tensor = scope_.pick(fits);
  if (!tensor.valid()) {
    tensor = scope_.pick(readable);
    if (!tensor.valid() || dtype == DType::Int64)
      return dtype == DType::Bool    ? apply(n_, Op::Lt, {affine(), number(2, 2)})
             : dtype == DType::Int64 ? affine()
                                     : constant(n_, 0.75, dtype);
  }
  return as(element_of(tensor, depth), dtype);
}

ScalarExpr NotationDraw::as(ScalarExpr value, DType to) {
  const DType from = dtype_of(n_, value);
  if (from == to) return value;
  if (is_float(from) && to == DType::Int64)
    return cast(n_, apply(n_, Op::Mul, {value, literal(2.5)}), to);
  if (is_float(from) && to == DType::Bool) return apply(n_, Op::Lt, {literal(0.25), value});
  return cast(n_, value, to);
}

ScalarExpr NotationDraw::real(int depth) {
  static const std::vector<Op> kBinary{Op::Add, Op::Sub, Op::Mul, Op::Mul,
                                       Op::Max, Op::Min, Op::Add, Op::Hypot};
  static const std::vector<Op> kUnary{Op::Neg,  Op::Abs,     Op::Tanh, Op::Sin,  Op::Cos,
                                      Op::Atan, Op::Sigmoid, Op::Erf,  Op::Floor};
  if (random_.chance(30)) return apply(n_, random_.pick(kUnary), {value(scope_.real(), depth - 1)});
  if (random_.chance(12)) {
    const ScalarExpr below = apply(n_, Op::Abs, {value(scope_.real(), depth - 1)});
    return apply(n_, Op::Div,
                 {value(scope_.real(), depth - 1), apply(n_, Op::Add, {below, literal(1.5)})});
  }
  if (random_.chance(10)) return cast(n_, value(DType::Int64, depth - 1), scope_.real());
  const ScalarExpr a = value(scope_.real(), depth - 1);
  return apply(n_, random_.pick(kBinary), {a, value(scope_.real(), depth - 1)});
}

ScalarExpr NotationDraw::whole(int depth) {
  static const std::vector<Op> kBinary{Op::Add, Op::Sub, Op::Max, Op::Min, Op::FloorDiv, Op::Mod};
  const ScalarExpr a = value(DType::Int64, depth - 1);
  return apply(n_, random_.pick(kBinary), {a, value(DType::Int64, depth - 1)});
}

ScalarExpr NotationDraw::truth(int depth) {
  static const std::vector<Op> kCompare{Op::Lt, Op::Le, Op::Eq, Op::Ne};
  if (random_.chance(30)) {
    const ScalarExpr a = value(DType::Bool, depth - 1);
    return apply(n_, random_.chance(50) ? Op::And : Op::Or, {a, value(DType::Bool, depth - 1)});
  }
  if (random_.chance(15)) return apply(n_, Op::Not, {value(DType::Bool, depth - 1)});
  if (random_.chance(40)) return apply(n_, random_.pick(kCompare), {affine(), affine()});
  if (random_.chance(40)) {
    const ScalarExpr a = value(DType::Int64, depth - 1);
    return apply(n_, random_.pick(kCompare), {a, value(DType::Int64, depth - 1)});
  }
  const ScalarExpr a = value(scope_.real(), depth - 1);
  return apply(n_, random_.chance(50) ? Op::Lt : Op::Le, {a, value(scope_.real(), depth - 1)});
}

ScalarExpr NotationDraw::custom_reduction(int depth) {
  // log-sum-exp of two: associative and smooth; and a product with a sum beside it (an affine map's
  // composition): associative, not commutative.
  const ScalarExpr a = value(scope_.real(), depth - 1), b = value(scope_.real(), depth - 1);
  std::vector<AxisHandle> over = draw_axes(1);
  axes_.push_back(over[0]);
  const ScalarExpr scale = apply(n_, Op::Tanh, {value(scope_.real(), depth - 1)});
  const ScalarExpr shift = apply(n_, Op::Sin, {apply(n_, Op::Add, {a, element(scope_.real())})});
  axes_.pop_back();
  const auto argument = [&](size_t k) { return trace::argument(n_, k, scope_.real()); };
  const ScalarExpr combine[] = {
      apply(n_, Op::Mul, {argument(0), argument(2)}),
      apply(n_, Op::Add, {apply(n_, Op::Mul, {argument(1), argument(2)}), argument(3)})};
  const ScalarExpr identity[] = {constant(n_, 1, scope_.real()), constant(n_, 0, scope_.real())};
  const ScalarExpr bodies[] = {scale, shift};
  const std::vector<ScalarExpr> found = reduce_custom(n_, bodies, combine, identity, over);
  return apply(n_, Op::Add, {apply(n_, Op::Mul, {found[0], b}), found[1]});
}

ScalarExpr NotationDraw::reduction(DType dtype, int depth) {
  if (dtype == scope_.real() && random_.chance(8)) return custom_reduction(depth);
  const std::vector<AxisHandle> over = draw_axes(random_.between(1, 2));
  axes_.insert(axes_.end(), over.begin(), over.end());
  ScalarExpr where;
  if (random_.chance(30)) where = truth(1);
  static const std::vector<CombinerKind> kNumeric{CombinerKind::Sum, CombinerKind::Sum,
                                                  CombinerKind::Max, CombinerKind::Min,
                                                  CombinerKind::Product};
  CombinerKind kind = random_.pick(kNumeric);
  DType of = dtype;
  if (dtype == DType::Bool) kind = random_.chance(50) ? CombinerKind::Any : CombinerKind::All;
  if (dtype == DType::Int64 && random_.chance(40)) {
    kind = random_.chance(50) ? CombinerKind::ArgMax : CombinerKind::ArgMin;
    of = scope_.real();
  }
  ScalarExpr body = value(of, depth - 1);
  if (kind == CombinerKind::Sum && of == scope_.real() && random_.chance(50))
    body = apply(n_, Op::Mul, {body, value(of, depth - 1)});
  axes_.resize(axes_.size() - over.size());
  return reduce(n_, kind, body, over, where, random_.chance(70) ? Ties::Even : Ties::First);
}

ScalarExpr NotationDraw::value(DType dtype, int depth) {
  if (depth <= 0) {
    if (random_.chance(12) && dtype == scope_.real())
      return literal(random_.chance(50) ? 0.5 : -1.25);
    if (random_.chance(40) && dtype == DType::Int64) return affine();
    return element(dtype);
  }
  if (random_.chance(15)) return element(dtype);
  if (random_.chance(20)) return reduction(dtype, depth);
  if (random_.chance(15)) {
    const ScalarExpr condition = truth(depth - 1), a = value(dtype, depth - 1);
    const ScalarExpr b = value(dtype, depth - 1);
    return select(n_, condition, as(a, dtype), as(b, dtype));
  }
  if (dtype == DType::Bool) return truth(depth);
  return dtype == DType::Int64 ? whole(depth) : real(depth);
}

bool NotationDraw::compute() {
  return scope_.add([&] {
    axes_ = draw_axes(random_.between(0, 3));
    const int64_t kind = random_.between(1, 100);
    const DType dtype = kind <= 80 ? scope_.real() : kind <= 93 ? DType::Int64 : DType::Bool;
    const auto body = [&] {
      return as(value(dtype, static_cast<int>(random_.between(1, 3))), dtype);
    };
    if (random_.chance(85)) return std::vector<TensorId>{trace::compute(n_, "y", axes_, body())};
    const ScalarExpr bodies[] = {body(), body()};
    return trace::compute(n_, "y", axes_, bodies);
  });
}

bool NotationDraw::scatter(bool any_kind) {
  return scope_.add([&] {
    static constexpr OutOfRange kModes[] = {OutOfRange::Drop, OutOfRange::Wrap, OutOfRange::Clip};
    static constexpr CombinerKind kKinds[] = {
        CombinerKind::Sum, CombinerKind::Sum, CombinerKind::Sum,    CombinerKind::None,
        CombinerKind::Max, CombinerKind::Min, CombinerKind::Product};
    const TensorId start = scope_.pick([&](TensorId id) {
      return scope_.dtype(id) == scope_.real() && scope_.shape(id).size() >= 1 &&
             scope_.shape(id).size() <= 3;
    });
    std::vector<int64_t> shape = draw_shape(random_, random_.between(1, 2), scope_.kinds());
    TensorId initial;
    if (start.valid() && random_.chance(75)) {
      shape = scope_.shape(start);
      initial = start;
      scope_.note_use(start);
      rather_ = start;  // the points read what the result starts from
    }
    axes_ = draw_axes(random_.between(1, 2));
    std::vector<ScalarExpr> target;
    for (int64_t extent : shape) {
      IndexMode unused = IndexMode::Error;
      target.push_back(extent > 0 ? index(extent, unused, 1) : affine());
    }
    ScalarExpr where;
    if (random_.chance(20)) where = truth(1);
    const ScalarExpr value = as(this->value(scope_.real(), 2), scope_.real());
    return std::vector<TensorId>{trace::scatter(n_, "s", shape, axes_, target, value,
                                                kKinds[random_.between(0, any_kind ? 6 : 3)],
                                                initial, kModes[random_.between(0, 2)], where)};
  });
}

bool NotationDraw::adapted(DType dtype, const std::vector<int64_t>& shape, double low, double high,
                           bool bounded) {
  return scope_.add([&] {
    axes_.clear();
    for (int64_t extent : shape) axes_.push_back(add_axis(n_, 0, extent));
    ScalarExpr value = element(dtype == DType::Bool || random_.chance(70) ? scope_.real() : dtype);
    if (is_float(dtype)) {
      value = as(value, scope_.real());
      if (bounded)
        value = apply(n_, Op::Add,
                      {literal(low),
                       apply(n_, Op::Mul, {literal(high - low), apply(n_, Op::Sigmoid, {value})})});
      value = as(value, dtype);
    } else if (dtype != DType::Bool) {
      const auto span = static_cast<int64_t>(high - low) + 1;
      value = apply(n_, Op::Mod, {as(value, DType::Int64), literal(span)});
      value = as(apply(n_, Op::Add, {value, literal(static_cast<int64_t>(low))}), dtype);
    } else {
      value = as(value, DType::Bool);
    }
    return std::vector<TensorId>{trace::compute(n_, "a", axes_, value)};
  });
}

}  // namespace adjit::testing
