// autosched/cpu/passes/pack/profit.hpp -- operands of a contraction whose rows lie where a tile
// waits for them.
//
// A register tile walks a panel of each operand: a few neighbours of every row. Rows that fall into
// the same sets of a cache, leave it, or lie on more pages than a core translates at once are
// copied side by side, where their elements are read often enough to pay for it.
#pragma once

#include "autosched/analysis/access.hpp"
#include "autosched/cpu/tile/choose_tile.hpp"
#include "autosched/machine/cpu_machine.hpp"

namespace adjit::sched {

/// How often a stage reads an element of an operand.
double reuse(const Stage& stage, const MemoryAccess& access);

/// Consecutive points of the reduction axis whose points lie the farthest apart.
struct ReductionRows {
  int64_t stride = 0;  // bytes
  int64_t count = 0;
};
ReductionRows reduction_rows(const Graph& graph, const Stage& stage, const MemoryAccess& access);

/// Whether copies of a tile walk rows of an operand that data names, one for each lane.
bool walks_rows_of_data(const Stage& stage, const Accesses& accesses, const TileChoice& tile);

/// The operands of one tile. What it is made of must outlive it.
class OperandRows {
 public:
  /// `tile` has lanes along an output axis.
  OperandRows(const Graph& graph, const Stage& stage, const Accesses& accesses,
              const TileChoice& tile, const CpuMachine& machine);

  /// Whether rows of the lanes' operand collide in the caches, or leave them: 4096 bytes apart, or
  /// 2 MB in all.
  bool far(const MemoryAccess& access) const;
  /// Whether the tile waits for the lanes' operand: for lines from L2, or for
  /// translations of its pages.
  bool waits_for(const MemoryAccess& access) const;
  /// The unrolled axis along which to pack a broadcast operand that is walked in steps of a
  /// multiple of 2048 bytes, or whose lines the tile waits for; else SIZE_MAX.
  size_t conflicting(const MemoryAccess& access) const;

 private:
  bool along_lanes(const MemoryAccess& access) const;
  double lines_per_step(const MemoryAccess& access) const;
  bool on_many_pages(const MemoryAccess& access) const;

  const Graph& graph_;
  const Stage& stage_;
  const TileChoice& tile_;
  const CpuMachine& machine_;
  bool starved_ = false;  // lines from L2 take time that shows
};

}  // namespace adjit::sched
