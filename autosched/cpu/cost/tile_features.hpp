// autosched/cpu/cost/tile_features.hpp -- the register tile of a nest in numbers: what it keeps in
// registers, how far apart its rows lie, what its innermost loops work on.
//
// Example: C = A B in a 12 x 2x16 tile around k: 24 accumulators, 24 instances, 12 uniform loads a
// pass; with 512 columns the twelve rows of A lie 2048 bytes apart.
#pragma once

#include "autosched/analysis/access.hpp"
#include "autosched/analysis/footprint.hpp"

namespace adjit::sched {

/// Of one nest. Counts are of one pass over the tile, distances of accesses in it.
struct TileFeatures {
  double lanes = 1;           // 1 without a vector loop
  double lanes_used = 1;      // share of the lanes, over all passes, that hold points
  double instances = 1;       // of the body
  double accumulators = 0;    // vectors that results are gathered in
  double registers = 0;       // these, and operands that stay until they are used again
  double spilled = 0;         // vectors that the registers do not hold
  double uniform_loads = 0;   // that serve all lanes
  double far_rows = 0;        // rows at least a page apart that are read together
  double colliding_rows = 0;  // those of them at multiples of a page
  double far_steps = 0;       // accesses that the innermost loop moves by a page or more
  double ragged_axes = 0;     // of the tile, whose last tile is shorter
  double nodes = 0;           // of the body's expressions
  double reads = 0;
  double inner_trips = 1;   // of the innermost serial loop
  double tile_cycles = 0;   // that tile_model.hpp counts for one run of the nest; 0: no lanes
  double inner_bytes = 0;   // touched by one run of the innermost serial loop
  double around_bytes = 0;  // and of the loop around it
  bool reduction_lanes = false;
  bool inner_reduces = false;  // the innermost serial loop runs over a reduction axis
};

/// `accesses` are those of the nest's stage.
TileFeatures tile_features_of(const Program& program, const PlacedNest& placed,
                              const Accesses& accesses);

}  // namespace adjit::sched
