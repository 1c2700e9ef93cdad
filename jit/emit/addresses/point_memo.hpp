// jit/emit/addresses/point_memo.hpp -- values of nodes at points of a tile.
#pragma once

#include "jit/emit/scopes/emitted.hpp"
#include "jit/emit/scopes/scoped_memo.hpp"
#include "jit/emit/scopes/scopes.hpp"
#include "jit/emit/shape/body_shape.hpp"

namespace adjit::emit {

/// Something at some points, under a mask of lanes or none.
struct PointKey {
  uint32_t what;
  uint64_t points;
  llvm::Value* active;
  bool operator==(const PointKey&) const = default;
};
struct PointKeyHash {
  size_t operator()(const PointKey& k) const {
    return (k.what * 0x9e3779b97f4a7c15ull) ^ (k.points * 0xc2b2ae3d27d4eb4full) ^
           reinterpret_cast<uintptr_t>(k.active);
  }
};

/// One value for all points that agree in what a node's value depends on: the trips of some
/// unrolled loops, and the lanes that may touch memory where something is loaded under them.
class PointMemo {
 public:
  /// Both must outlive it.
  PointMemo(const BodyShape& shape, const Scopes& scopes) : shape_(shape), values_(scopes) {}

  /// Null where it is not known.
  const Emitted* find(ExprId id, const Point& point) const { return values_.find(key(id, point)); }
  const Emitted& remember(ExprId id, const Point& point, const Emitted& emitted) {
    return values_.remember(key(id, point), emitted, emitted.depth);
  }
  void forget() { values_.forget(); }

 private:
  PointKey key(ExprId id, const Point& point) const {
    const Dependence& d = shape_[id].dependence;
    return {id.value, point.instance & d.trips, d.masked ? point.active.value : nullptr};
  }

  const BodyShape& shape_;
  ScopedMemo<PointKey, Emitted, PointKeyHash> values_;
};

}  // namespace adjit::emit
