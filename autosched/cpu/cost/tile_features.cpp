// autosched/cpu/cost/tile_features.cpp -- the register tile of a nest in numbers.
#include "autosched/cpu/cost/tile_features.hpp"

#include <algorithm>
#include <cstdlib>

#include "autosched/analysis/work.hpp"
#include "autosched/cpu/tile/tile_model.hpp"
#include "autosched/machine/cpu_machine.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {
namespace {

// What a nest's tile loops say, by axis.
struct Tile {
  std::vector<int64_t> factors;  // instances of each axis
  std::optional<size_t> lanes_axis;
  int64_t lanes = 1;
  size_t begin = 0;  // position of its first loop
};

Tile tile_of(const Nest& nest) {
  Tile tile;
  tile.factors.assign(nest.spans.size(), 1);
  tile.begin = tile_begin(nest);
  for (size_t l = tile.begin; l < nest.loops.size(); ++l) {
    const Loop& loop = nest.loops[l];
    if (loop.kind == LoopKind::Vector) {
      tile.lanes_axis = loop.axis;
      tile.lanes = loop.trips;
    } else {
      tile.factors[loop.axis] *= loop.trips;
    }
  }
  return tile;
}

// How far a step of an axis moves an access, in bytes.
int64_t distance(const Graph& graph, const MemoryAccess& access, size_t axis) {
  return std::abs(access.strides[axis]) *
         static_cast<int64_t>(size_of(graph.info(access.tensor).dtype));
}

class TileCounter {
 public:
  TileCounter(const Program& program, const PlacedNest& placed, const Accesses& accesses)
      : program_(program),
        placed_(placed),
        nest_(*placed.nest),
        stage_(program.graph.stages[nest_.stage]),
        accesses_(accesses),
        tile_(tile_of(nest_)) {}

  TileFeatures operator()() {
    count_copies();
    count_rows();
    count_inner_loops();
    WorkMeter meter(program_.graph.pool);
    found_.nodes = static_cast<double>(meter(stage_.bodies).nodes);
    found_.reads = static_cast<double>(accesses_.reads.size());
    ask_the_tile_model();
    return found_;
  }

 private:
  bool reduces(size_t axis) const {
    return stage_.kind != StageKind::Scatter && axis >= stage_.domain.output_rank;
  }

  void count_copies() {
    found_.lanes = static_cast<double>(tile_.lanes);
    found_.reduction_lanes = tile_.lanes_axis && reduces(*tile_.lanes_axis);
    found_.accumulators = static_cast<double>(stage_.bodies.size());
    for (size_t a = 0; a < tile_.factors.size(); ++a) {
      const auto factor = static_cast<double>(tile_.factors[a]);
      const int64_t width = tile_.factors[a] * (tile_.lanes_axis == a ? tile_.lanes : 1);
      found_.instances *= factor;
      if (!reduces(a) || found_.reduction_lanes) found_.accumulators *= factor;
      if (width > 1 && nest_.spans[a] % width != 0) ++found_.ragged_axes;
    }
    if (!tile_.lanes_axis) return;
    const int64_t span = std::max<int64_t>(nest_.spans[*tile_.lanes_axis], 1);
    found_.lanes_used =
        static_cast<double>(span) / static_cast<double>(ceil_div(span, tile_.lanes) * tile_.lanes);
  }

  void count_rows() {
    for (const MemoryAccess& access : accesses_.reads) {
      double distinct = 1, far = 1;
      bool collide = false;
      for (size_t a = 0; a < tile_.factors.size(); ++a) {
        if (tile_.factors[a] < 2 || !access.depends_on(a)) continue;
        const auto factor = static_cast<double>(tile_.factors[a]);
        distinct *= factor;
        const int64_t bytes = distance(program_.graph, access, a);
        if (bytes < kPageBytes || tile_.lanes_axis == a) continue;
        far *= factor;
        collide = collide || (bytes % kPageBytes == 0 && tile_.factors[a] > 4);
      }
      if (!tile_.lanes_axis || !access.depends_on(*tile_.lanes_axis))
        found_.uniform_loads += distinct;
      if (far > 1) found_.far_rows += far;
      if (collide) found_.colliding_rows += far;
    }
  }

  void count_inner_loops() {
    const size_t inside = placed_.first + tile_.begin;
    found_.inner_bytes = bytes_touched(inside > placed_.first ? inside - 1 : inside);
    found_.around_bytes = bytes_touched(inside > placed_.first + 1 ? inside - 2 : placed_.first);
    if (tile_.begin == 0) return;
    const Loop& inner = nest_.loops[tile_.begin - 1];
    found_.inner_trips = static_cast<double>(inner.trips);
    found_.inner_reduces = reduces(inner.axis);
    for (const Walk& walk : placed_.walks)
      if (std::abs(walk.strides[inside - 1].bytes) >= kPageBytes) ++found_.far_steps;
  }

  double bytes_touched(size_t from) const {
    double lines = 0;
    for (const Walk& walk : placed_.walks) lines += lines_touched(walk, placed_.path, from).count;
    return lines * kLineBytes;
  }

  void ask_the_tile_model() {
    found_.registers = found_.accumulators;
    if (!tile_.lanes_axis) return;
    const TileProblem problem{program_.graph,          stage_, accesses_, nest_.spans,
                              cpu_of(program_.target), 0,      false};
    const TileModel model(problem, *tile_.lanes_axis);
    for (const MemoryAccess& access : accesses_.reads)
      found_.registers += static_cast<double>(model.live_values(access, tile_.factors));
    found_.spilled = static_cast<double>(model.spilled(tile_.factors));
    found_.tile_cycles = model.cycles(tile_.factors);
  }

  const Program& program_;
  const PlacedNest& placed_;
  const Nest& nest_;
  const Stage& stage_;
  const Accesses& accesses_;
  Tile tile_;
  TileFeatures found_;
};

}  // namespace

TileFeatures tile_features_of(const Program& program, const PlacedNest& placed,
                              const Accesses& accesses) {
  return TileCounter(program, placed, accesses)();
}

}  // namespace adjit::sched
