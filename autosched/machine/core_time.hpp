// autosched/machine/core_time.hpp -- what work takes of one core: the currency of all estimates.
//
// Register tiles, orders of loops, blocks of rows and whole programs are priced where different
// things are known of them (cpu/tile/tile_model.hpp, cpu/cost/interchange_cost.hpp,
// cpu/passes/tile_fusion/cost.hpp, cpu/cost/cost.hpp). What they share stands here: how long bytes
// take to come from each place, and how computing and moving overlap.
#pragma once

#include <algorithm>

#include "autosched/machine/cpu_machine.hpp"

namespace adjit::sched {

/// Multiply-adds of elements of so many bytes that one core starts in a cycle.
inline double lanes_per_cycle(const CpuMachine& machine, size_t bytes) {
  return static_cast<double>(machine.fma_bits) / 8 / static_cast<double>(bytes);
}

/// Cycles in which so many bytes come from there to one core, as if nothing else were done.
inline double cycles_from_l2(const CpuMachine& machine, double bytes) {
  return bytes / machine.l2_bytes_per_cycle;
}
inline double cycles_from_l3(const CpuMachine& machine, double bytes) {
  return bytes / machine.l3_bytes_per_cycle;
}
inline double cycles_from_memory(const CpuMachine& machine, double bytes) {
  return bytes * machine.ghz / machine.memory_gb_per_core;
}
/// Time for bytes drawn while all cores draw at once, from the time that one core would take alone.
inline double from_shared_memory(const CpuMachine& machine, double time) {
  return time * machine.memory_gb_per_core / machine.memory_gb;
}

/// Time that a core computes, and time that its caches are filled, in one unit.
struct CoreTime {
  double compute = 0;
  double move = 0;
};
inline CoreTime operator+(const CoreTime& a, const CoreTime& b) {
  return {a.compute + b.compute, a.move + b.move};
}

/// How long both take, most of the shorter one hidden behind the longer one.
inline double together(const CpuMachine& machine, const CoreTime& time) {
  return std::max(time.compute, time.move) +
         (1 - machine.core.hidden_share) * std::min(time.compute, time.move);
}

/// The same of cycles.
inline double microseconds(const CpuMachine& machine, const CoreTime& cycles) {
  return 1e-3 * together(machine, cycles) / machine.ghz;
}

}  // namespace adjit::sched
