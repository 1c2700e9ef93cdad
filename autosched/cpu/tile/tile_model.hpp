// autosched/cpu/tile/tile_model.hpp -- what one register tile costs.
//
// The model counts cycles of one step of the innermost reduction loop on a core with two FMA and
// two load ports: max(arithmetic / 2, loads / 2, latency of the accumulators, lines from
// L2), summed over whole and ragged tiles. For a matrix product this is the measured rule sum
// over tiles of max(mr nv / 2, (mr + nv) / 2, 4).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "autosched/analysis/access.hpp"
#include "autosched/analysis/work.hpp"
#include "autosched/machine/target.hpp"
#include "autosched/machine/thresholds.hpp"

namespace adjit::sched {

/// Bytes of L3 that one core may count on.
inline double l3_share_bytes(const Target& target) {
  return thresholds().l3_share * static_cast<double>(target.l3_bytes);
}

/// What is to be tiled.
struct TileProblem {
  const Graph& graph;
  const Stage& stage;
  const Accesses& accesses;
  std::vector<int64_t> spans;  // per axis
  const Target& target;
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

/// Lanes of a vector of the widest type that the stage computes with.
int64_t full_lanes(const Graph& graph, const Stage& stage, int vector_bits);

/// Lanes for an axis of that extent: full ones, or the power of two that holds it.
int64_t lanes_for(int64_t extent, int64_t full);

/// Cycles of a load whose lanes are apart: whole vectors and shuffles for small distances
/// (jit/emit/lane_windows.hpp), else an element at a time.
double gather_cost(const MemoryAccess& access, size_t axis, int64_t lanes, const CoreCosts& core);

/// The tiles of a problem with one candidate vector axis; `factors` are as in TileChoice.
class TileModel {
 public:
  TileModel(const TileProblem& problem, size_t vector_axis);

  int64_t lanes() const { return lanes_; }

  bool fits(const std::vector<int64_t>& factors) const;

  // Registers that hold an operand from one copy to those that use it again. Copies come in the
  // order of the axes, the lanes' one innermost: what does not depend on an axis is kept over all
  // instances inside it. Where instances along a reduction share what one operand reads, they come
  // in the order of its elements (jit/emit/contributions.cpp), and all other operands are kept.
  int64_t live_values(const MemoryAccess& access, const std::vector<int64_t>& factors) const;

  // What finds no register and is loaded again by every instance.
  int64_t spilled(const std::vector<int64_t>& factors) const;

  // Cycles of one pass over the tile.
  double step(const std::vector<int64_t>& factors) const;

  // Cache lines of a step that come from L2 and show beside what else there is to do.
  double streamed_lines(const std::vector<int64_t>& factors) const;
  // Cycles in which L2 gives all lines of a step: what a tile waits for that reads
  // more than it multiplies.
  // Less than `above` is as good as 0.
  double second_cache(const std::vector<int64_t>& factors, double above = 0) const;

  // What a tile reads of an operand.
  struct Walked {
    double bytes = 0;          // in its whole reduction
    double rows = 1;           // that lie a line apart or farther, in one step
    double lines = 1;          // of each
    double step = kLineBytes;  // bytes to the next step, at most a line
    bool collides = false;     // more rows in one set of a cache than it has ways
  };
  Walked walked_in_tile(size_t read, const std::vector<int64_t>& factors) const;

  // window_reuse.cpp: what instances along results and along a reduction read of one operand,
  // vectors (or elements): x(k + r) of 8 x 9 instances are 16.
  double distinct(const MemoryAccess& access, const std::vector<int64_t>& factors) const;
  // The result's axis, if any, along which instances read what others along this reduction axis do.
  std::optional<size_t> window_along(size_t axis) const;
  // Cycles that a step of instances that share a window waits for its lines: from L2,
  // where other channels come between two tiles that read it, or from memory, where it is walked in
  // several steps (a tile that takes it as a whole has the next tile's lines in sight). Measured on
  // Zen 4: 3 x 3 windows of an image of 12 MB 1,080 us instead of 700.
  double window_waits(const std::vector<int64_t>& factors) const;
  // The operand that they share most of.
  const MemoryAccess* shared_read(const std::vector<int64_t>& factors) const;

  // Lines of an operand that a step takes from L2, if its walk leaves L1.
  double lines_in_step(size_t read, const std::vector<int64_t>& factors) const;

  // Whether an operand is to be copied so that its lanes lie side by side.
  bool is_copied(size_t read) const {
    return contiguous_[read] && !p_.accesses.reads[read].contiguous(v_);
  }
  bool shares_lines(const MemoryAccess& access, size_t axis) const;
  // Cycles of an operand's loads in one step.
  double load_cost(size_t read, const std::vector<int64_t>& factors) const;

  // Cycles more for a vector whose elements are gathered from a line each, where these lines drive
  // each other out of L1 before the next step reads their next elements.
  double far_lanes(const MemoryAccess& access, const std::vector<int64_t>& factors) const;

  // Loads more for a vector of an operand, on average, since some lie in two cache lines: those of
  // rows that begin anywhere, as the caller's arrays do (NumPy's begin 16 bytes behind a line).
  double crossing(size_t read) const;

  // Of an operand whose lanes data puts anywhere: the axis in the tile along which it is
  // contiguous. Its loads are then pieces of rows.
  std::optional<size_t> rows_along(const MemoryAccess& access,
                                   const std::vector<int64_t>& factors) const;

  // Cycles more for each load of a tile whose rows are far apart: they fall into the same sets of
  // L1, more streams than that are not fetched ahead, and what comes from beyond
  // L2 and is read once comes fastest row by row.
  double distance(const MemoryAccess& access, const std::vector<int64_t>& factors) const;

  // Cycles that memory takes longer for operands that no cache holds than the first of several
  // passes over them, when the nest computes for so many cycles: what tiles walk again is near by
  // then, and memory has nothing to do.
  double memory_waits(const std::vector<int64_t>& factors, double computing) const;

  // Whether each step of a long reduction needs another line from beyond L2, which
  // tiles beside each other do not share: results that are not contiguous along the lanes are not
  // summed in blocks (kernel.cpp), so the whole reduction passes before the next tile.
  bool fetches_far(const MemoryAccess& access) const;

  // Of all results, after the last step of a pass and before the first.
  double storing(const std::vector<int64_t>& factors) const;

  // Of an element of results whose lanes lie apart.
  double stored_apart(const std::vector<int64_t>& factors) const;

  // Of a result whose partial ones in the lanes a tile folds together.
  double folding(const std::vector<int64_t>& factors) const;

  // Instructions of a tile and of its shorter versions at the ends of axes, before LLVM.
  double code(const std::vector<int64_t>& factors) const;

  // Cycles of a nest over its whole domain, and with its share of what the code has to save.
  // Descents from different starts meet, and tiles share their ragged versions: steps and totals
  // are computed once.
  double cycles(const std::vector<int64_t>& factors) const;
  double total(const std::vector<int64_t>& factors) const;

  std::vector<int64_t> choices(size_t axis) const;

  // Share of all tiles that are left where rows are diagonals.
  double visited(const std::vector<int64_t>& factors) const;

  // Share of the visited tiles whose instances ask rows of the domain.
  double asking(const std::vector<int64_t>& factors) const {
    const Border border = this->border(factors);
    return border.any + border.lanes;
  }

  std::vector<size_t> packed;
  double packing = 0;  // cycles to copy these

 private:
  int64_t accumulators(const std::vector<int64_t>& factors) const;

  // Of the operand that is loaded, and of a body's intermediate values.
  int64_t working_registers() const { return arithmetic_ > 2 ? 3 : 1; }

  // The body's operations by the axes that they depend on: one of few axes is done once for all
  // instances that differ in others.
  void count_operations();

  static uint64_t bit(size_t axis) { return uint64_t{1} << std::min<size_t>(axis, 63); }

  double operations(const std::vector<int64_t>& factors) const;

  bool masked(size_t axis) const;

  // Whether an equality of output axes alone picks some points of the axis: loops skip all others,
  // a tile would compute them.
  bool is_picked(size_t axis) const;

  // Whether instances along a reduction axis are of use by themselves, beside those that share
  // reads.
  bool takes_taps(size_t axis) const;
  bool lies_apart(const MemoryAccess& access) const;
  bool takes_rows(size_t axis, int64_t factor) const;

  // Whether instances along a reduction axis come in the combiner's order: inside all other
  // reduction loops, where it needs one.
  bool stays_in_order(size_t axis) const;

  // Instructions of a tile's masks where all rows are asked, and where only those are that differ
  // between lanes.
  struct RowMasks {
    double all = 0, lanes = 0;
  };
  RowMasks row_masks(const std::vector<int64_t>& factors) const;

  // Shares of the visited tiles at which a row does not hold as a whole that is equal in all lanes,
  // and of those where only one does not that differs between them: these and the others have
  // versions with fewer masks (jit/emit/tile_versions.hpp), if a tile is not too much code to be
  // there thrice.
  struct Border {
    double any = 1, lanes = 0;
  };
  Border border(const std::vector<int64_t>& factors) const;
  // Of the places that a tile takes along the axes of a row, the share at which all its points are
  // inside it, and that at which any is; many places are sampled.
  struct Shares {
    double inside = 1, touched = 1;
  };
  Shares shares_of(const Affine& row, const std::vector<int64_t>& factors) const;
  // By the row and the factors along its axes.
  mutable std::map<std::vector<int64_t>, Shares> shares_;
  // Share of the tiles that are left where a row is a diagonal: others a nest leaves out, since a
  // reduction loop ends before them, or they have no result.
  double touched(const Affine& row, std::vector<int64_t> factors) const;

  // Masks that no remaining reduction loop changes are computed once, outside it.
  double mask_cost(const std::vector<bool>& row, const std::vector<int64_t>& factors) const;

  // Whether a copy with the lanes contiguous pays: every element is used many times, and the lanes
  // are one index by themselves.
  bool packable(const MemoryAccess& access) const;

  // What instances read together, of the factors that were last asked for.
  struct Sharing {
    std::vector<int64_t> factors;
    std::vector<double> distinct;  // per read
    const MemoryAccess* read = nullptr;
  };
  const Sharing& sharing(const std::vector<int64_t>& factors) const;
  mutable Sharing sharing_;

  struct FactorsHash {
    size_t operator()(const std::vector<int64_t>& factors) const {
      size_t hash = 0;
      for (const int64_t factor : factors) hash = hash * 131 + static_cast<size_t>(factor);
      return hash;
    }
  };
  using ByFactors = std::unordered_map<std::vector<int64_t>, double, FactorsHash>;
  mutable ByFactors steps_, totals_;

  double step_of(const std::vector<int64_t>& factors) const;

  const TileProblem& p_;
  const CoreCosts& core_;
  size_t v_;
  int64_t lanes_;
  size_t output_rank_;
  bool in_reduction_;
  bool reuses_ = false;  // every operand is read several times
  double passing_ = 0;   // bytes of all operands where each is read once, else 0
  int64_t registers_;
  double arithmetic_ = 1, lane_load_;
  double runs_ = 1;  // of all loops over tiles, while the program runs once
  std::vector<std::pair<uint64_t, double>> operations_;  // axes as a mask, vector instructions
  std::vector<bool> contiguous_;           // per read: along the lanes, as it stands or packed
  std::vector<std::vector<bool>> rows_;    // per row of the domain: the axes it uses
  std::vector<const Affine*> plain_rows_;  // those that are inequalities without divisions
  size_t nodes_ = 0;                       // of the bodies
};

/// Cycles to load a piece of each lane's row and to transpose them: a load a lane, insertions that
/// make them whole vectors, and rounds of shuffles. They are the vectors of `piece` points.
double row_load_cost(int64_t lanes, int64_t piece, const CoreCosts& core);

}  // namespace adjit::sched
