// autosched/cpu/cost/interchange_cost.hpp -- what other orders of a nest's loops would cost in
// cache lines.
#pragma once

#include "autosched/analysis/footprint.hpp"
#include "autosched/analysis/traffic.hpp"

namespace adjit::sched {

/// A kernel's root without anything attached to it. Its loops in another order touch the same
/// lines, so no program has to be made to price them.
class LoneNest {
 public:
  /// `program` must outlive it. Lines are those beside what streams through the caches
  /// (beside_streams).
  LoneNest(const Program& program, size_t kernel, const CpuMachine& machine);

  /// The same with a loop in two: an outer one whose trips take so many of its own.
  LoneNest with_split(size_t loop, int64_t trips) const;

  /// Cycles of one core to bring the lines, when loop order[k] stands at position k.
  CacheCycles cycles(const std::vector<size_t>& order) const;

 private:
  PlacedNest placed_;
  Nest nest_;
  CpuMachine machine_;
  double bytes_;  // of the program, or more than the caches hold
};

}  // namespace adjit::sched
