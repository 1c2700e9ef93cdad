// jit/emit/tile_rows.cpp -- rows of the domain that differ between the points of a tile.
//
// Such a row is a mask, asked at every step. There is less to ask where
//  - it says only which results are empty: these are left out when they are stored;
//  - it holds for no point of the tile: a reduction loop ends before;
//  - it holds for all points of the tile, as it does but at the borders of a convolution's image or
//    on a triangle's diagonal: a second version of the tile has no masks, a third one only those of
//    rows that differ between lanes, and a step takes the first that it may.
#include <algorithm>
#include <set>

#include "autosched/cpu/tile/tile_model.hpp"
#include "autosched/machine/thresholds.hpp"
#include "jit/emit/nest.hpp"

namespace adjit::emit {

using llvm::Value;

// Conditions on outputs alone (a triangle of results) need no mask at every point where all reads
// are in range anyway: what was added up for nothing is dropped at the end.
void NestEmitter::defer_result_rows() {
  if (stage_.combiner.kind == CombinerKind::None || shape_.is_scatter() || stage_.running) return;
  if (!body_->reads_anywhere()) return;
  const size_t given = stage_.domain.inequalities.size() + stage_.domain.equalities.size();
  std::erase_if(tile_rows_, [&](const AffineConstraint* row) {
    // Rows that clip a region follow the domain's own.
    if (row - rows_.data() >= static_cast<std::ptrdiff_t>(given) ||
        shape_.uses_reduction(row->form))
      return false;
    result_rows_.push_back(row);
    return true;
  });
}

// Whether a row of the tile's points bounds a reduction loop: the innermost one that it depends on,
// where it is linear in that loop's variable and those of the tile.
bool NestEmitter::bounds_tiles(const AffineConstraint& row, size_t k) const {
  if (k < shape_.reduction_begin || !is_plain(row) || stage_.running) return false;
  for (size_t l = k; l < shape_.tile_begin; ++l)
    if ((row.form.coefficient(nest_.loops[l].axis) != 0) != (l == k)) return false;
  return true;
}

// The largest (or smallest) value of a plain row's form among the points of a tile. A loop whose
// variable is to be left out is bound to 0.
Affine NestEmitter::extreme_in_tile(const AffineConstraint& row, bool largest) const {
  Affine extreme(row.form.constant());
  for (size_t axis = 0; axis < stage_.domain.rank(); ++axis) {
    const int64_t scale = row.form.coefficient(axis);
    if (scale == 0) continue;
    Affine first = shape_.axes[axis];
    for (size_t l = shape_.tile_begin; l < nest_.loops.size(); ++l) {
      const Loop& loop = nest_.loops[l];
      if (loop.axis != axis) continue;
      first.set_coefficient(loop.variable, 0);
      if ((scale > 0) == largest) extreme += Affine(loop.step * (loop.trips - 1)) * scale;
    }
    extreme += index_.resolve(first) * scale;
  }
  return extreme;
}

// The same of the tile's points in one vector of results.
Affine NestEmitter::extreme_in_vector(const AffineConstraint& row, int64_t vector,
                                      bool largest) const {
  const size_t axis = nest_.loops[*shape_.lane_loop].axis;
  const int64_t scale = row.form.coefficient(axis);
  Affine others = row.form;
  others.set_coefficient(axis, 0);
  Affine first = shape_.axes[axis];
  for (size_t l = shape_.tile_begin; l < nest_.loops.size(); ++l)
    if (nest_.loops[l].axis == axis) first.set_coefficient(nest_.loops[l].variable, 0);
  const int64_t lane = vector + ((scale > 0) == largest ? int64_t{shape_.lanes} - 1 : 0);
  return extreme_in_tile({others, false}, largest) + (index_.resolve(first) + Affine(lane)) * scale;
}

// Whether a row can be asked of a tile as a whole: an inequality without divisions.
bool NestEmitter::is_plain(const AffineConstraint& row) const {
  for (size_t v = stage_.domain.rank(); v < row.form.size(); ++v)
    if (row.form.coefficient(v) != 0) return false;
  return !row.equality;
}

// Whether enough steps find all plain rows to hold for the whole tile, and a second version of it
// is not too much code.
bool NestEmitter::has_interior() const {
  if (shape_.is_scatter() || shape_.tile_begin == 0) return false;
  auto nodes = static_cast<double>(body_->node_count());
  for (size_t c : shape_.unrolled_loops) nodes *= static_cast<double>(nest_.loops[c].trips);
  if (nodes > thresholds().interior_nodes) return false;
  double inside = 1;
  bool any = false;
  for (const AffineConstraint* row : tile_rows_) {
    if (!is_plain(*row)) continue;
    const Interval range = index_.range(extreme_in_tile(*row, false));
    if (range.hi < 0) return false;
    if (range.lo >= 0) continue;
    any = true;
    inside *= static_cast<double>(range.hi + 1) / static_cast<double>(range.hi - range.lo + 1);
  }
  return any && inside >= thresholds().interior_share;
}

// Whether all plain rows, or those that do not differ between lanes, hold for all points of the
// tile at the step at hand.
Value* NestEmitter::is_interior(bool in_lanes) {
  Value* all = builder_.getTrue();
  for (const AffineConstraint* row : tile_rows_) {
    if (!is_plain(*row) || differs_in_lanes(*row) != in_lanes) continue;
    all = builder_.CreateAnd(all, index_.at_least_zero(extreme_in_tile(*row, false)));
  }
  return all;
}

// Whether any point of the tile has a result, where rows of the results alone may say that none
// has: no value where they do not.
Emitted NestEmitter::has_results() {
  Constraints rows = tile_rows_;
  rows.insert(rows.end(), result_rows_.begin(), result_rows_.end());
  Emitted all;
  for (const AffineConstraint* row : rows) {
    if (!is_plain(*row) || shape_.uses_reduction(row->form)) continue;
    const Affine largest = extreme_in_tile(*row, true);
    if (index_.range(largest).lo < 0)
      all = masks_->both(all, {index_.at_least_zero(largest), index_.depth(largest)});
  }
  return all;
}

bool NestEmitter::differs_in_lanes(const AffineConstraint& row) const {
  return shape_.lane_loop && row.form.coefficient(nest_.loops[*shape_.lane_loop].axis) != 0;
}

// The rows that a version of the tile asks: at a border of the lanes alone, few masks serve all
// copies.
std::vector<const AffineConstraint*> NestEmitter::asked_rows(Border border) const {
  Constraints rows = tile_rows_;
  std::erase_if(rows, [&](const AffineConstraint* row) {
    if (border == Border::Any || !is_plain(*row)) return false;
    return border == Border::None || !differs_in_lanes(*row);
  });
  return rows;
}

// Vectors of results that a row leaves out of many steps (one half of a triangle's columns in the
// other half's steps), each with a form that is negative there: the next one's is never less.
std::vector<NestEmitter::LeftOut> NestEmitter::vectors_left_out() const {
  constexpr double kWorthAVersion = 0.2;  // of the steps
  std::vector<LeftOut> found;
  if (shape_.is_scatter() || stage_.running || !shape_.lane_loop || shape_.lanes_in_reduction())
    return found;
  Constraints rows = tile_rows_;
  rows.insert(rows.end(), result_rows_.begin(), result_rows_.end());
  const size_t axis = nest_.loops[*shape_.lane_loop].axis;
  std::set<int64_t> vectors;
  for (const TileInstance& copy : shape_.instances(tile_limit_, false))
    vectors.insert(shape_.offset_along(axis, copy));
  for (const int64_t vector : vectors) {
    std::vector<Affine> conditions;
    for (const AffineConstraint* row : rows) {
      if (!is_plain(*row) || !differs_in_lanes(*row)) continue;
      const Affine largest = extreme_in_vector(*row, vector, true);
      if (index_.range(largest).lo < 0) conditions.push_back(largest);
    }
    if (conditions.size() != 1) continue;
    const Interval range = index_.range(conditions[0]);
    if (static_cast<double>(-range.lo) <
        kWorthAVersion * static_cast<double>(range.hi - range.lo + 1))
      continue;
    if (!found.empty() && !(conditions[0] - found[0].condition).is_constant()) continue;
    found.push_back({vector, std::move(conditions[0])});
  }
  std::ranges::stable_sort(found, {}, [](const LeftOut& one) { return one.condition.constant(); });
  // Where all of them may be, the last one's condition bounds the loop.
  if (!found.empty() && found.size() == vectors.size()) found.pop_back();
  if (found.empty()) return found;
  auto nodes = static_cast<double>(body_->node_count() * (found.size() + 1));
  for (size_t c : shape_.unrolled_loops) nodes *= static_cast<double>(nest_.loops[c].trips);
  if (nodes > thresholds().interior_nodes) found.clear();
  return found;
}

// Those of some rows that one vector of results has to ask where a form is not negative: in the
// half in which a triangle's other columns have terms, these all have one.
std::vector<const AffineConstraint*> NestEmitter::rows_of_vector(Constraints rows, int64_t vector,
                                                                 const Affine& not_negative) const {
  std::erase_if(rows, [&](const AffineConstraint* row) {
    if (!is_plain(*row) || !differs_in_lanes(*row)) return false;
    const Affine beyond = extreme_in_vector(*row, vector, false) - not_negative;
    return beyond.is_constant() && beyond.constant() >= 0;
  });
  return rows;
}

}  // namespace adjit::emit
