// autosched/cpu/tile/choose_tile.hpp -- which axis goes into the lanes and how many points of each
// axis a register tile holds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "autosched/cpu/tile/tile_model.hpp"
#include "autosched/decisions/choices.hpp"

namespace adjit::sched {

struct TileChoice {
  std::optional<size_t> vector_axis;  // none: the nest stays scalar
  int64_t lanes = 1;
  std::vector<int64_t> factors;  // per axis: unrolled trips (of vectors, for the vector axis)
  double cycles = 0;             // for the whole domain, on one core
  double packing = 0;            // of these, for copies of operands
  std::vector<size_t>
      packed;  // reads (numbers into Accesses::reads) counted as if packed for the lanes
};

/// Whether a row of the domain mentions the tile's lanes or instances: others bound loops around
/// it.
bool asks_in_tile(const Domain& domain, const TileChoice& tile);

/// The tile of a stage with a combiner.
TileChoice choose_reduction_tile(const TileProblem& problem);
/// The lanes and instances of a stage without one.
TileChoice choose_pointwise_tile(const TileProblem& problem);

/// Tiles that were found before, for one machine: a search schedules one graph again and again, and
/// most of its tile problems are the same each time.
class TileMemory {
 public:
  /// The best tile first, then those that are offered beside it.
  const std::vector<TileChoice>& offered(const TileProblem& problem);
  /// The best tile only.
  const TileChoice& best(const TileProblem& problem);

 private:
  struct Known {
    TileChoice best;
    std::vector<TileChoice> by_lanes;  // the best of every axis, of a stage with a combiner
    std::vector<TileChoice> offered;   // once they were asked for
  };
  Known& known(const TileProblem& problem);

  std::map<std::vector<int64_t>, Known> known_;
};

/// A tile that was chosen for another problem over the same axes, as one of this problem; nullopt
/// where that has other lanes, or may not have such instances.
std::optional<TileChoice> tile_with(const TileProblem& problem, const TileChoice& tile);

/// The tile of either, as a decision: option 0 is what the functions above give, the next ones the
/// best for other lanes, and one step away from it along one axis, the best first. `first`: option
/// 0 in place of the best one, which follows.
TileChoice choose_tile(const TileProblem& problem, Choices& choices, Decision decision,
                       const std::optional<TileChoice>& first = std::nullopt);
/// Option 0 of it: what the functions above give.
TileChoice best_tile(const TileProblem& problem, Choices& choices);

}  // namespace adjit::sched
