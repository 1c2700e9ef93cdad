// tests/fuzz/draw/reductions_draw.cpp -- several reductions of the same elements: a maximum and its
// place, a maximum and a sum of exponentials, in any order.
//
// Stages between them read what the earlier ones give, and the later ones write the elements in
// other words at times.
#include <algorithm>

#include "runtime/trace/index_reduction.hpp"
#include "runtime/trace/lowering.hpp"
#include "tests/fuzz/draw/notation_draw.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

ScalarExpr NotationDraw::from_zero(AxisHandle axis) {
  return apply(n_, Op::Sub, {axis_value(n_, axis), literal(lows_[axis.value])});
}

std::vector<ScalarExpr> NotationDraw::from_zero(const std::vector<AxisHandle>& axes) {
  std::vector<ScalarExpr> index;
  for (AxisHandle axis : axes) index.push_back(from_zero(axis));
  return index;
}

ScalarExpr NotationDraw::row_major(const std::vector<AxisHandle>& axes) {
  ScalarExpr at = literal(int64_t{0});
  for (AxisHandle axis : axes)
    at = apply(n_, Op::Add,
               {apply(n_, Op::Mul, {at, literal(extent_of(n_, axis))}), from_zero(axis)});
  return at;
}

// Of the last dimension, often of the last two, at times beyond the ends by one.
NotationDraw::Elements NotationDraw::windows(TensorId tensor) {
  scope_.note_use(tensor);
  Elements e;
  const std::vector<int64_t> shape = scope_.shape(tensor);
  const bool padded = random_.chance(25);
  std::vector<ScalarExpr> index;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool whole = d + 1 < shape.size() && (d + 2 < shape.size() || random_.chance(40));
    const int64_t width = whole ? 1 : random_.between(1, std::min<int64_t>(shape[d], 3));
    const int64_t stride = whole ? 1 : random_.between(1, 3);
    e.outer.push_back(add_axis(n_, 0, (shape[d] - width) / stride + 1));
    ScalarExpr at = apply(n_, Op::Mul, {axis_value(n_, e.outer.back()), literal(stride)});
    if (!whole) {
      e.over.push_back(add_axis(n_, 0, width));
      at = apply(n_, Op::Add, {at, axis_value(n_, e.over.back())});
      if (padded) at = apply(n_, Op::Sub, {at, literal(int64_t{1})});
    }
    index.push_back(at);
  }
  e.body = read(n_, tensor, index, padded ? IndexMode::Clip : IndexMode::Error);
  return e;
}

NotationDraw::Elements NotationDraw::elements() {
  if (random_.chance(30)) {
    const TensorId tensor = scope_.pick([&](TensorId id) {
      return is_float(scope_.dtype(id)) && !scope_.shape(id).empty() &&
             scope_.shape(id).size() <= 3 && !scope_.value(id).values.empty();
    });
    if (tensor.valid()) return windows(tensor);
  }
  Elements e{draw_axes(random_.between(0, 2)), draw_axes(random_.between(1, 2)), {}, {}};
  axes_ = e.outer;
  axes_.insert(axes_.end(), e.over.begin(), e.over.end());
  const DType dtype = random_.chance(75) ? scope_.real() : DType::Int64;
  e.body = as(
      random_.chance(50) ? element(dtype) : value(dtype, static_cast<int>(random_.between(1, 2))),
      dtype);
  if (random_.chance(20)) e.where = truth(1);
  return e;
}

// The same values in other words: unchanged by arithmetic, or read from a copy, flat or not.
ScalarExpr NotationDraw::in_other_words(const Elements& e) {
  std::vector<AxisHandle> axes = e.outer;
  axes.insert(axes.end(), e.over.begin(), e.over.end());
  int64_t count = 1;
  for (AxisHandle axis : axes) count *= extent_of(n_, axis);
  switch (random_.between(0, count > 0 ? 4 : 2)) {
    case 0: return apply(n_, Op::Add, {e.body, literal(int64_t{0})});
    case 1: return apply(n_, Op::Neg, {apply(n_, Op::Neg, {e.body})});
    case 2: return apply(n_, Op::Max, {e.body, e.body});
    case 3: return read(n_, trace::compute(n_, "c", axes, e.body), from_zero(axes));
    default: {
      const TensorId copy = trace::compute(n_, "c", axes, e.body);
      const AxisHandle flat = add_axis(n_, 0, count);
      std::vector<ScalarExpr> index(axes.size());
      ScalarExpr rest = axis_value(n_, flat);
      for (size_t d = axes.size(); d-- > 0;) {
        const ScalarExpr extent = literal(extent_of(n_, axes[d]));
        index[d] = apply(n_, Op::Mod, {rest, extent});
        rest = apply(n_, Op::FloorDiv, {rest, extent});
      }
      const TensorId flattened = trace::compute(n_, "f", {&flat, 1}, read(n_, copy, index));
      const ScalarExpr at[] = {row_major(axes)};
      return read(n_, flattened, at);
    }
  }
}

// An expression over axes_ that depends on `found`, which is read there.
ScalarExpr NotationDraw::reading(TensorId found, ScalarExpr here) {
  scope_.note_use(found);
  const TensorId gathered = scope_.pick([&](TensorId id) {
    return scope_.dtype(id) == scope_.real() && scope_.shape(id).size() == 1 &&
           !scope_.value(id).values.empty();
  });
  switch (random_.between(0, 2)) {
    case 0:
      if (scope_.dtype(found) == DType::Int64 && gathered.valid()) {
        scope_.note_use(gathered);
        const ScalarExpr index[] = {here};
        return read(n_, gathered, index, random_.chance(50) ? IndexMode::Wrap : IndexMode::Clip);
      }
      [[fallthrough]];
    case 1: return apply(n_, Op::Mul, {as(here, scope_.real()), value(scope_.real(), 1)});
    default: {
      rather_ = found;
      const ScalarExpr drawn = value(scope_.real(), 2);
      rather_ = {};
      return drawn;
    }
  }
}

bool NotationDraw::reader(TensorId found) {
  return scope_.add([&] {
    axes_.clear();
    for (int64_t extent : scope_.shape(found)) axes_.push_back(add_axis(n_, 0, extent));
    const ScalarExpr here = read(n_, found, from_zero(axes_));
    return std::vector<TensorId>{
        trace::compute(n_, "b", axes_, as(reading(found, here), scope_.real()))};
  });
}

bool NotationDraw::rephrased(TensorId tensor) {
  return scope_.add([&] {
    Elements e;
    for (int64_t extent : scope_.shape(tensor)) e.outer.push_back(add_axis(n_, 0, extent));
    e.body = read(n_, tensor, from_zero(e.outer));
    scope_.note_use(tensor);
    return std::vector<TensorId>{trace::compute(n_, "p", e.outer, in_other_words(e))};
  });
}

// Between two reductions: the elements at the place, or equal to the value, that `found` is; sums
// of exponentials; whatever reads it.
ScalarExpr NotationDraw::behind(const Elements& e, TensorId found, bool place) {
  axes_ = e.outer;
  const ScalarExpr here = read(n_, found, from_zero(axes_));
  const DType dtype = dtype_of(n_, e.body);
  switch (random_.between(0, 3)) {
    case 0: {
      const ScalarExpr at = e.over.size() == 1 ? axis_value(n_, e.over[0]) : row_major(e.over);
      const ScalarExpr same = apply(n_, Op::Eq, {place ? at : e.body, here});
      return reduce(n_, CombinerKind::Sum, select(n_, same, e.body, constant(n_, 0, dtype)), e.over,
                    e.where);
    }
    case 1:
      if (!place && is_float(dtype))
        return reduce(n_, CombinerKind::Sum,
                      apply(n_, Op::Exp, {apply(n_, Op::Sub, {e.body, here})}), e.over, e.where);
      [[fallthrough]];
    default: return reading(found, here);
  }
}

bool NotationDraw::reductions() {
  static const std::vector<CombinerKind> kKinds{
      CombinerKind::Sum, CombinerKind::Product, CombinerKind::Max,    CombinerKind::Max,
      CombinerKind::Min, CombinerKind::ArgMax,  CombinerKind::ArgMax, CombinerKind::ArgMin};
  Elements e;
  bool any = false;
  for (int64_t count = random_.between(2, 4); count > 0; --count) {
    const CombinerKind kind = random_.pick(kKinds);
    const bool taken = scope_.add([&] {
      if (!e.body.valid()) e = elements();
      const ScalarExpr body = any && random_.chance(30) ? in_other_words(e) : e.body;
      return std::vector<TensorId>{trace::compute(
          n_, "r", e.outer,
          reduce(n_, kind, body, e.over, e.where, random_.chance(70) ? Ties::Even : Ties::First))};
    });
    if (!taken && !any) return false;
    if (!taken) continue;
    any = true;
    const TensorId found = scope_.last()[0];
    const bool place = kind == CombinerKind::ArgMax || kind == CombinerKind::ArgMin;
    if (random_.chance(60))
      scope_.add([&] {
        return std::vector<TensorId>{
            trace::compute(n_, "b", e.outer, as(behind(e, found, place), scope_.real()))};
      });
  }
  return any;
}

}  // namespace adjit::testing
