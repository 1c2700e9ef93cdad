// autosched/machine/core_costs.hpp -- what a core takes for what nests do: fields of CpuMachine.
#pragma once

#include <cstdint>
#include <span>

#include "autosched/machine/table_row.hpp"
#include "runtime/process/rooms.hpp"

namespace adjit::sched {

/// The rows of core_costs.def, which has their units, meanings and findings. The defaults serve all
/// processors; those of one that differs are set in machine_of (jit/cpu/machine.cpp).
struct CoreCosts {
#define CORE_COST(type, name, value, unit, meaning, finding) type name = value;
#include "autosched/machine/core_costs.def"
#undef CORE_COST
};

std::span<const TableRow<CoreCosts>> core_cost_rows();

}  // namespace adjit::sched
