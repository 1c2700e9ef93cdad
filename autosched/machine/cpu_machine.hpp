// autosched/machine/cpu_machine.hpp -- what schedules for a processor and their costs know of it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>

#include "autosched/machine/core_costs.hpp"
#include "runtime/process/rooms.hpp"

namespace adjit::sched {

inline constexpr int64_t kLineBytes = 64;      // of every cache
inline constexpr int64_t kPageBytes = 4096;    // where the caller's arrays lie
inline constexpr int64_t kPagesAtHand = 64;    // that a core translates at once
inline constexpr int64_t kCacheWays = 8;       // of an L1, at least
inline constexpr int64_t kLeastStreamed = 16;  // bytes of a vector that may be stored past them

/// The defaults are the reference processor: a 2022 server core with two vector pipes of 256 bits,
/// on which a 512-bit operation takes both. jit/cpu/machine.hpp has the others, by their LLVM name,
/// which is in the cache key; nothing here is measured when a program runs. Results never depend on
/// a machine beyond the order of reductions, which the moves fix.
struct CpuMachine {
  int cores = 1;
  int vector_bits = 512;
  bool bfloat16_pairs = false;  // one instruction adds the products of a lane's two bfloat16
  int64_t l1_bytes = 32 << 10;
  int64_t l2_bytes = 1 << 20;
  int64_t l3_bytes = 32 << 20;
  double ghz = 3.7;
  int fma_bits = 512;   // of multiply-adds that one core starts in a cycle
  int load_bits = 512;  // of loads, and of half as many stores
  double l2_bytes_per_cycle = 32;
  double l3_bytes_per_cycle = 12;
  double memory_gb_per_core = 32;  // GB/s that one core can draw
  double memory_gb = 50;           // and all of them
  int64_t kept_bytes = 256 << 20;  // of rows that wait for others, before they are computed again
  double call_microseconds = 0.1;  // of one kernel
  double task_microseconds = 0.3;  // of handing a task to a core
  double pool_microseconds = 3;    // of entering the thread pool and waiting for the last task
  CoreCosts core = {};
};

/// Lines so many bytes apart that a cache holds: those of one set, times the sets that they fall
/// into. A way is the largest power of two in an eighth of the cache: 48 KB are twelve ways of 4
/// KB.
inline int64_t lines_kept(int64_t stride, int64_t cache_bytes) {
  const auto eighth = static_cast<uint64_t>(cache_bytes / kCacheWays);
  const auto way = static_cast<int64_t>(std::bit_floor(eighth));
  return cache_bytes / way * (way / std::max(kLineBytes, std::gcd(stride, way)));
}

/// Whether so many lines stay in the cache until they are read again, beside others.
inline bool lines_stay(int64_t lines, int64_t stride, int64_t cache_bytes) {
  return 4 * lines <= 3 * lines_kept(stride, cache_bytes);
}

}  // namespace adjit::sched
