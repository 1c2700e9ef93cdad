// tests/fuzz/draw/notation_draw.hpp -- random stages in index notation.
#pragma once

#include <map>

#include "runtime/trace/index_notation.hpp"
#include "tests/fuzz/draw/scope.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// Draws extents: mostly small, now and then 0, 1, a vector's width and one more; of long axes
/// those of tiles, too.
int64_t draw_extent(Random& random, const TensorKinds& kinds);
std::vector<int64_t> draw_shape(Random& random, int64_t rank, const TensorKinds& kinds);

/// Elementwise expressions of reads at drawn indices, over drawn axes, with reductions anywhere.
/// Indices are affine, strided, mirrored, clamped by min and max or by a mode, wrapped, divided,
/// folded by select or abs, or come from integers of the program. In some stages they wrap, with
/// constants beside the ends of int64.
class NotationDraw {
 public:
  explicit NotationDraw(Scope& scope)
      : scope_(scope),
        random_(scope.random()),
        large_(Random(scope.random()).next()),
        has_large_(large_.chance(15)),
        n_(scope.trace()) {}

  /// Each adds its results to the scope, or is refused by it.
  bool compute();
  /// `any_kind`: also such as have no derivative.
  bool scatter(bool any_kind);
  /// Several reductions of the same elements, with stages between them that read the earlier ones'
  /// results (reductions_draw.cpp).
  bool reductions();
  /// A stage that reads it, of its shape.
  bool reader(TensorId found);
  /// A stage with the same elements.
  bool rephrased(TensorId tensor);
  /// A tensor of that dtype and shape whose elements are read from one of the program, with values
  /// in [low, high] where `bounded`.
  bool adapted(DType dtype, const std::vector<int64_t>& shape, double low, double high,
               bool bounded);

 private:
  ScalarExpr literal(int64_t value) { return trace::literal(n_, WeakScalar::of(value)); }
  ScalarExpr literal(double value) { return trace::literal(n_, WeakScalar::of(value)); }
  /// A small number, or rarely one beside the ends of int32 and int64 or a power of two.
  ScalarExpr number(int64_t low, int64_t high);
  ScalarExpr value(DType dtype, int depth);
  ScalarExpr real(int depth);
  ScalarExpr whole(int depth);
  ScalarExpr truth(int depth);
  ScalarExpr reduction(DType dtype, int depth);
  ScalarExpr custom_reduction(int depth);
  ScalarExpr element(DType dtype, int depth = 1);
  ScalarExpr element_of(TensorId tensor, int depth);
  ScalarExpr index(int64_t extent, IndexMode& mode, int depth);
  ScalarExpr clamped(ScalarExpr at, int64_t extent);
  ScalarExpr affine();
  ScalarExpr as(ScalarExpr value, DType to);
  std::vector<AxisHandle> draw_axes(int64_t rank);

  /// What reductions go over; `where` may be invalid.
  struct Elements {
    std::vector<AxisHandle> outer, over;
    ScalarExpr body, where;
  };
  Elements elements();
  Elements windows(TensorId tensor);
  ScalarExpr in_other_words(const Elements& e);
  ScalarExpr reading(TensorId found, ScalarExpr here);
  ScalarExpr behind(const Elements& e, TensorId found, bool place);
  ScalarExpr from_zero(AxisHandle axis);
  std::vector<ScalarExpr> from_zero(const std::vector<AxisHandle>& axes);
  ScalarExpr row_major(const std::vector<AxisHandle>& axes);

  Scope& scope_;
  Random& random_;
  Random large_;  // a stream of its own: stages without large numbers are drawn as if none had them
  bool has_large_;
  IndexNotation n_;
  std::vector<AxisHandle> axes_;      // in scope
  std::map<uint32_t, int64_t> lows_;  // of axes that do not begin at 0
  TensorId rather_;                   // read this one where possible
};

}  // namespace adjit::testing
