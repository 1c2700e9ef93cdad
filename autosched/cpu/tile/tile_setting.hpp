// autosched/cpu/tile/tile_setting.hpp -- a stage that is to be tiled, with lanes along one of its
// axes: what all prices of its register tiles ask.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "autosched/analysis/access.hpp"
#include "autosched/machine/cpu_machine.hpp"

namespace adjit::sched {

/// Bytes of L3 that one core may count on.
inline double l3_share_bytes(const CpuMachine& machine) {
  return machine.core.l3_share * static_cast<double>(machine.l3_bytes);
}

/// What is to be tiled.
struct TileProblem {
  const LoweredGraph& graph;
  const Stage& stage;
  const Accesses& accesses;
  std::vector<int64_t> spans;  // per axis
  const CpuMachine& machine;
  size_t first_axis = 0;  // axes before this one have loops that others depend on: not in the tile
  bool may_pack = false;
  double calls = 1;  // of the stage, in one run of the scan whose step it is in
  /// Parts of the reduction that go outside all results: `spans` are those of one part, and results
  /// are stored after each and loaded before the next.
  double passes = 1;
  std::vector<size_t> task_axes = {};  // that are walked from task to task: none is in the tile
  bool in_pieces = false;  // rows across the lanes are loaded in pieces, not only those data names

  bool may_tile(size_t axis) const {
    return axis >= first_axis && std::ranges::find(task_axes, axis) == task_axes.end();
  }
};

/// Lanes for an axis of that extent: full ones, or the power of two that holds it.
int64_t lanes_for(int64_t extent, int64_t full);

/// A problem and the axis of its lanes; the problem must outlive it. Tiles are given as factors:
/// per axis, the unrolled trips (of vectors, along the lanes' axis).
struct TileSetting {
  TileSetting(const TileProblem& problem, size_t vector_axis);

  /// Whether an operand is to be copied so that its lanes lie side by side.
  bool is_copied(size_t read) const {
    return contiguous[read] && !p.accesses.reads[read].contiguous(v);
  }
  /// Whether several steps along an axis stay in one cache line.
  bool shares_lines(const MemoryAccess& access, size_t axis) const;
  /// Whether what the lanes read is a row's for each of them.
  bool lies_apart(const MemoryAccess& access) const;
  /// Whether instances along a reduction axis come in the combiner's order: inside all other
  /// reduction loops, where it needs one.
  bool stays_in_order(size_t axis) const;
  /// Whether a constraint of the domain mentions an axis.
  bool is_masked(size_t axis) const;
  /// Points of an axis in a tile.
  int64_t points(size_t axis, const std::vector<int64_t>& factors) const {
    return factors[axis] * (axis == v ? lanes : 1);
  }

  const TileProblem& p;
  const CoreCosts& core;
  size_t v;  // the lanes' axis
  int64_t lanes;
  size_t output_rank;
  bool in_reduction;  // the lanes are
  int64_t registers;
  double passing = 0;                     // bytes of all operands where each is read once, else 0
  std::vector<bool> contiguous;           // per read: along the lanes, as it stands or packed
  std::vector<size_t> packed;             // reads that a copy makes so
  double packing = 0;                     // cycles to copy these
  std::vector<std::vector<bool>> rows;    // per constraint of the domain: the axes it uses
  std::vector<const Affine*> plain_rows;  // those that are inequalities without divisions

 private:
  // Whether a copy with the lanes contiguous pays: every element is used many times, and the lanes
  // are one index by themselves.
  bool packable(const MemoryAccess& access) const;
};

}  // namespace adjit::sched
