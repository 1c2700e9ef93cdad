// autosched/analysis/traffic.hpp -- cache lines that enter each cache while a kernel runs.
//
// For each nest and each cache: the outermost loop whose one iteration works on no more than the
// cache holds. What an access touches in one trip of the loop around it is fetched once, since the
// next trip still finds what both use; further out everything has been displaced.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "autosched/analysis/footprint.hpp"
#include "autosched/machine/core_time.hpp"

namespace adjit::sched {

inline constexpr size_t kCaches = 3;  // L1, L2, L3

/// Lines that enter a cache, fetched or written back by stores.
struct Traffic {
  std::array<double, kCaches> streamed{};   // all
  std::array<double, kCaches> scattered{};  // those of them that nothing foresees
};

/// Cycles of one core to bring a nest's lines: what comes from the different places overlaps, what
/// nothing foresees is waited for.
struct CacheCycles {
  double l2 = 0, l3 = 0, memory = 0, scattered = 0;
  double all() const { return std::max({l2, l3, memory}) + scattered; }
  /// Beyond L2, whose lines computing hides.
  double beyond_l2() const { return std::max(l3, memory) + scattered; }
};
CacheCycles cache_cycles(const Traffic& traffic, const CpuMachine& machine);

/// The machine, for what is to stay in L2: what is walked once passes through half of
/// it.
CpuMachine beside_streams(CpuMachine machine);

/// Per nest, in one run of the kernel by one core. What fits into a cache together with everything
/// else of the program (`program_bytes`), or of its task, is there from before.
std::vector<Traffic> traffic(const std::vector<PlacedNest>& nests, const CpuMachine& machine,
                             double program_bytes);

}  // namespace adjit::sched
