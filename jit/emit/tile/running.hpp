// jit/emit/tile/running.hpp -- the points of a tile along the axis on which a reduction runs on.
//
// A thread combines its own points first, one after the other; then what stands before them is put
// in front of each.
#pragma once

#include <vector>

#include "jit/emit/operations/combine.hpp"
#include "jit/emit/scopes/loops.hpp"
#include "jit/emit/tile/nest_context.hpp"

namespace adjit::emit {

class RunningTile {
 public:
  /// `nest`: one whose shape runs_together. It must outlive it.
  explicit RunningTile(NestContext& nest);

  /// Of a thread without points.
  Carried nothing() const;
  /// What each point of the tile has together with those before it in the tile; where not all of
  /// them lie inside the axis, those outside add nothing.
  Carried own(bool all_inside);
  /// What they all have.
  Partial last(const Carried& own) const;
  /// Stores the results, which begin with what is before the tile.
  void store(const Carried& own, const Partial& before, bool all_inside);
  /// Whether all points of the tile lie inside the axis.
  llvm::Value* is_inside();

 private:
  Partial at(const Carried& own, size_t point) const;
  Partial values_at(const TileInstance& instance, bool all_inside);

  NestContext& nest_;
  const size_t components_;
  std::vector<TileInstance> instances_;  // as the reduction comes to them
  std::vector<unsigned> lanes_;          // of an instance, likewise
};

}  // namespace adjit::emit
