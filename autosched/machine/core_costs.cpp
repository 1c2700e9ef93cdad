// autosched/machine/core_costs.cpp -- the table as rows.
#include "autosched/machine/core_costs.hpp"

#include <array>

namespace adjit::sched {
namespace {

constexpr std::array kCostRows{
#define CORE_COST(type, name, value, unit, meaning, finding) \
  ADJIT_TABLE_ROW(CoreCosts, name, unit, meaning, finding),
#include "autosched/machine/core_costs.def"
#undef CORE_COST
};

}  // namespace

std::span<const TableRow<CoreCosts>> core_cost_rows() { return kCostRows; }

}  // namespace adjit::sched
