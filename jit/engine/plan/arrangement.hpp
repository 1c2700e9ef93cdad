// jit/engine/plan/arrangement.hpp -- where the intermediate tensors of a program lie in one block
// of memory.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "autosched/analysis/task_chains.hpp"
#include "autosched/program/program.hpp"
#include "jit/engine/plan/plan.hpp"
#include "jit/engine/plan/workspace.hpp"

namespace adjit::engine {

/// What has a place in the block: a tensor, or what the steps of a scan need.
struct Occupant {
  uint32_t tensor = UINT32_MAX;  // none: of a scan
  size_t kernel = 0;             // that writes it, or runs the scan
  Lifetime life;                 // in positions of Arrangement::order
};

struct Arrangement {
  std::vector<size_t> order;        // in which kernels run
  std::vector<uint32_t> buffer_of;  // per tensor: the one whose buffer it shares
  std::vector<Occupant> occupants;
  std::unordered_map<uint32_t, int64_t> offsets;  // per workspace tensor
  std::unordered_map<uint32_t, Buffer> slots;     // tensors that stay within a chain's tasks
  TaskChains chains;
  std::vector<std::unique_ptr<Arrangement>> steps;  // per kernel: of a scan's program
  std::vector<int64_t> blocks;                      // per kernel: where that one's block begins
  int64_t alignment = kWorkspaceAlignment;          // of all that lies in the block
  int64_t bytes = 0;                                // of it
  int64_t slot_bytes = 0;                           // besides, for every thread
};

/// `scan`: whose steps the program is, or null. Linear in the program, but for placing the
/// occupants (workspace.hpp). Recursive over scans within scans.
Arrangement arrange(const Program& program, const Scan* scan = nullptr);

/// Bytes of a tensor, row-major, with its gaps.
int64_t bytes_of(const LoweredGraph& graph, TensorId id);

}  // namespace adjit::engine
