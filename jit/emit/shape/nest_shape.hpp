// jit/emit/shape/nest_shape.hpp -- what the loops of a nest are to its emitter: which are the tile,
// which carry accumulators, and the instances of the body in a tile.
//
// A value of the program alone: no code is made here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "autosched/program/program.hpp"

namespace adjit::emit {

/// One of the bodies of a tile that stand side by side.
struct TileInstance {
  std::vector<int64_t> values;  // per unrolled loop of the tile, its variable
  uint64_t number = 0;          // see instance_number.hpp
  unsigned live_lanes = 0;      // lanes inside the axis
};

class NestShape {
 public:
  /// Both must outlive it.
  NestShape(const Program& program, const Nest& nest);

  bool is_scatter() const { return stage->kind == StageKind::Scatter; }
  bool is_reduction(const Loop& loop) const;
  /// Whether the lanes are of a reduction.
  bool lanes_in_reduction() const { return lane_loop && is_reduction(nest->loops[*lane_loop]); }

  /// Index after the innermost loop whose variable the form uses; forms are over the stage's axes
  /// and its domain's divisions, which count as what they divide.
  size_t depends_until(const Affine& form) const;
  /// Whether the loop's axis occurs inside a division of the form.
  bool divides_by(const Affine& form, size_t loop) const;
  bool uses_reduction(const Affine& form) const;
  /// Whether the loop steps over whole tiles of its axis, of which the last one may be shorter.
  bool covers_tile(size_t loop) const;
  /// Points left for the loop and those inside it, before the cap by its own trips: over the
  /// variables of the loops outside.
  Affine available(size_t loop) const;

  /// The instances over the unrolled loops of results (or of the reduction) that lie inside the
  /// first `limits` points of the tile's axes.
  std::vector<TileInstance> instances(std::span<const int64_t> limits, bool reduction) const;
  /// Points from the tile's first one to an instance's, along an axis.
  int64_t offset_along(size_t axis, const TileInstance& instance) const;
  /// Trips of each unrolled loop that lie inside its axis; 0 where several loops of the tile share
  /// an axis, or the trips are not one point each.
  std::vector<int64_t> instance_trips(std::span<const int64_t> limits) const;
  /// The instance of a result at one of the reduction.
  TileInstance combined(const TileInstance& output, const TileInstance& reduction) const;
  /// Lanes of a reduction have an accumulator for each of its instances along their axis: which one
  /// an instance adds to.
  size_t chain_of(const TileInstance& reduction) const;
  size_t chain_count(std::span<const int64_t> limits) const;

  const Nest* nest;
  const Stage* stage;
  const Running* running;  // how its results run on along an axis; null: they do not
  /// The stage's bodies and a scatter's target; at points of the segment alone where a loop goes
  /// through nothing else.
  std::vector<ExprId> bodies, target;
  /// A loop that goes from point `begin` to `end` of its axis, which loops outside it decide.
  struct SegmentLoop {
    size_t loop = 0;
    ExprId begin, end;
  };
  std::optional<SegmentLoop> segment_loop;
  std::vector<Affine> axes;    // per axis, over the kernel's variables
  size_t tile_begin = 0;       // first loop of the tile
  size_t reduction_begin = 0;  // first of the loops that carry accumulators
  size_t thread_begin = 0;     // of a nest of a block: from where on its threads go their own ways
  bool runs_together = false;  // several points of a running reduction's axis are combined at once:
  size_t together_begin = 0;   // those inside the loops in front of this one
  std::optional<size_t> lane_loop;
  unsigned lanes = 1;
  std::vector<size_t> unrolled_loops;  // of the tile, in order
  std::vector<int64_t> tile_points;    // per axis, of a whole tile inside the nest's span
  // Per axis, whether the tile has all its points also past the end (takes_whole_tiles,
  // threads.hpp; of a running reduction past its last one).
  std::vector<bool> whole_tiles;
  bool empty_reduction = false;
};

}  // namespace adjit::emit
