// autosched/cpu/tile/predicates.hpp -- constraints of the domain that differ between the points of
// a register tile: masks, versions of the tile that ask fewer of them, tiles that are left out
// (jit/emit/shape/tile_versions.hpp).
#pragma once

#include <map>
#include <vector>

#include "autosched/cpu/tile/tile_setting.hpp"
#include "autosched/cpu/tile/window_reuse.hpp"

namespace adjit::sched {

class TilePredicates {
 public:
  /// `nodes`: of the stage's bodies.
  TilePredicates(const TileSetting& setting, const WindowReuse& windows, size_t nodes)
      : t_(setting), windows_(windows), nodes_(nodes) {}

  /// Share of all tiles that are left where constraints are diagonals.
  double visited(const std::vector<int64_t>& factors) const;

  /// Shares of the visited tiles at which a constraint does not hold as a whole that is equal in
  /// all lanes, and of those where only one does not that differs between them: these and the
  /// others have versions with fewer masks, if a tile is not too much code to be there thrice.
  struct Border {
    double any = 1, lanes = 0;
  };
  Border border(const std::vector<int64_t>& factors) const;

  /// Share of the visited tiles whose instances ask constraints.
  double asking(const std::vector<int64_t>& factors) const {
    const Border border = this->border(factors);
    return border.any + border.lanes;
  }

  /// Instructions of a tile's masks where all constraints are asked, and where only those are that
  /// differ between lanes.
  struct RowMasks {
    double all = 0, lanes = 0;
  };
  RowMasks row_masks(const std::vector<int64_t>& factors) const;

 private:
  // Of the places that a tile takes along the axes of a constraint, the share at which all its
  // points are inside it, and that at which any is; many places are sampled.
  struct Shares {
    double inside = 1, touched = 1;
  };
  Shares shares_of(const Affine& row, const std::vector<int64_t>& factors) const;

  // Share of the tiles that are left where a constraint is a diagonal: others a nest leaves out,
  // since a reduction loop ends before them, or they have no result.
  double touched(const Affine& row, std::vector<int64_t> factors) const;

  // Masks that no remaining reduction loop changes are computed once, outside it.
  double mask_cost(const std::vector<bool>& row, const std::vector<int64_t>& factors) const;

  const TileSetting& t_;
  const WindowReuse& windows_;
  size_t nodes_;
  mutable std::map<std::vector<int64_t>, Shares>
      shares_;  // by constraint and factors along its axes
};

}  // namespace adjit::sched
