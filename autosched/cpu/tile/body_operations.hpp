// autosched/cpu/tile/body_operations.hpp -- the operations of a stage's bodies by the axes that
// they depend on.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "autosched/machine/core_costs.hpp"
#include "runtime/graph/graph.hpp"

namespace adjit::sched {

/// One of few axes is done once for all instances that differ in others.
struct BodyOperations {
  BodyOperations(const Graph& graph, const Stage& stage, const CoreCosts& core);

  /// Vector instructions of a tile with so many instances along each axis.
  double operations(const std::vector<int64_t>& factors) const;

  /// Registers of the operand that is loaded, and of intermediate values.
  int64_t working_registers() const { return arithmetic > 2 ? 3 : 1; }

  size_t nodes = 0;                                  // of the bodies
  double arithmetic = 1;                             // vector instructions of an instance
  std::vector<std::pair<uint64_t, double>> by_axes;  // axes as a mask, vector instructions
};

}  // namespace adjit::sched
