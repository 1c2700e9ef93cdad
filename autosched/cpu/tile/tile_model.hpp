// autosched/cpu/tile/tile_model.hpp -- what one register tile costs.
//
// The model counts cycles of one step of the innermost reduction loop on a core with two FMA and
// two load ports: max(arithmetic / 2, loads / 2, latency of the accumulators, lines from L2),
// summed over whole and ragged tiles. For a matrix product this is the measured rule sum over tiles
// of max(mr nv / 2, (mr + nv) / 2, 4).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "autosched/cpu/tile/body_operations.hpp"
#include "autosched/cpu/tile/predicates.hpp"
#include "autosched/cpu/tile/tile_setting.hpp"
#include "autosched/cpu/tile/window_reuse.hpp"

namespace adjit::sched {

/// The tiles of a problem with one candidate vector axis; factors are as in TileChoice.
class TileModel {
 public:
  TileModel(const TileProblem& problem, size_t vector_axis);
  TileModel(const TileModel&) = delete;  // its parts know each other
  TileModel& operator=(const TileModel&) = delete;

  const TileSetting& setting() const { return t_; }
  const WindowReuse& windows() const { return windows_; }
  const TilePredicates& predicates() const { return predicates_; }

  bool fits(const std::vector<int64_t>& factors) const;

  // Registers that hold an operand from one instance to those that use it again. Instances come in
  // the order of the axes, the lanes' one innermost: what does not depend on an axis is kept over
  // all instances inside it. Where instances along a reduction share what one operand reads, they
  // come in the order of its elements (jit/emit/shape/contributions.hpp), and all other operands
  // are kept.
  int64_t live_values(const MemoryAccess& access, const std::vector<int64_t>& factors) const;

  // What finds no register and is loaded again by every instance.
  int64_t spilled(const std::vector<int64_t>& factors) const;

  // Cycles of one pass over the tile.
  double step(const std::vector<int64_t>& factors) const;

  // Instructions of a tile and of its shorter versions at the ends of axes, before LLVM.
  double code(const std::vector<int64_t>& factors) const;

  // Cycles of a nest over its whole domain, and with its share of what the code has to save.
  // Descents from different starts meet, and tiles share their ragged versions: steps and totals
  // are computed once.
  double cycles(const std::vector<int64_t>& factors) const;
  double total(const std::vector<int64_t>& factors) const;

  // Factors to try along an axis.
  std::vector<int64_t> choices(size_t axis) const;

 private:
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

  const TileSetting t_;
  const BodyOperations body_;
  const WindowReuse windows_;
  const TilePredicates predicates_;
  bool reuses_ = false;  // every operand is read several times
  double runs_ = 1;      // of all loops over tiles, while the program runs once
};

}  // namespace adjit::sched
