// jit/emit/body/body.hpp -- the bodies of one stage as machine values, at one point (or vector of
// points) of its tile.
#pragma once

#include <optional>
#include <span>

#include "jit/emit/addresses/body_context.hpp"
#include "jit/emit/addresses/coordinates.hpp"
#include "jit/emit/addresses/point_memo.hpp"
#include "jit/emit/body/divisors.hpp"
#include "jit/emit/loads/bfloat16_loads.hpp"
#include "jit/emit/loads/load.hpp"
#include "jit/emit/loads/load_joined.hpp"
#include "jit/emit/scopes/emitted.hpp"
#include "jit/emit/shape/body_shape.hpp"
#include "jit/emit/shape/tile_at_hand.hpp"

namespace adjit::emit {

/// Evaluates expressions of one stage.
class BodyEmitter {
 public:
  /// What the next iteration of the loop of variable `ahead` reads where whole vectors are read now
  /// is fetched. All of the context must outlive it.
  BodyEmitter(const BodyContext& context, std::optional<size_t> ahead);
  BodyEmitter(const BodyEmitter&) = delete;  // members refer to others
  BodyEmitter& operator=(const BodyEmitter&) = delete;

  const BodyContext& context() const { return context_; }
  /// The value of a body expression: a scalar where it is equal in all lanes, else a vector. Bool
  /// is i1. Half types are held as float.
  Emitted operator()(ExprId root, const Point& point);
  /// See Coordinates.
  Emitted coordinate(ExprId id, const Point& point) { return coordinates_(id, point); }
  /// See BFloat16Loads.
  Emitted bfloat16_pair(ExprId read, const Point& point) { return bfloat16_loads_(read, point); }
  /// The version of the tile at hand.
  TileAtHand& tile() { return loads_.tile(); }
  /// Drops what is remembered, of splats, too: to be called when a loop variable that is not
  /// unrolled becomes fixed or stops being so.
  void forget();

 private:
  Emitted evaluate(ExprId id, const Point& point);
  Emitted form_cast(ExprId id, const Affine& form);
  Emitted comparison(Op op, const Affine& left, const Affine& right);
  Emitted position_comparison(ExprId id, const Emitted& number);
  Emitted operation(ExprId id, std::span<const Emitted> operands);

  const BodyContext context_;
  PointMemo values_;
  Coordinates coordinates_;
  LoadEmitter loads_;
  JoinedLoads joined_loads_;
  BFloat16Loads bfloat16_loads_;
  Divisors divisors_;
};

}  // namespace adjit::emit
