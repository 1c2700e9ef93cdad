// jit/cpu/machine.hpp -- what the cost model assumes of a processor, by the name LLVM gives it.
#pragma once

#include <string_view>
#include <vector>

#include "autosched/machine/cpu_machine.hpp"
#include "jit/cpu/target.hpp"

namespace adjit::cpu {

/// Caches, ports and bandwidths of the processor, with so many cores; those of the reference
/// (autosched/machine/cpu_machine.hpp) where the table has no row. A function of `cpu` alone, whose
/// name is in the cache key.
CpuMachine machine_of(const CpuTarget& cpu, int cores);

/// The names in the table.
std::vector<std::string_view> known_machines();

}  // namespace adjit::cpu
