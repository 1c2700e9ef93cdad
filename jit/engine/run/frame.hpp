// jit/engine/run/frame.hpp -- what one call in progress writes: addresses, tables, workspace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "jit/engine/plan/workspace.hpp"
#include "jit/engine/run/kernel_time.hpp"
#include "jit/engine/run/loaded_plan.hpp"
#include "jit/engine/run/task_graph.hpp"
#include "runtime/process/cancellation.hpp"

namespace adjit::engine {

struct Frame {
  std::vector<void*> addresses;  // per buffer
  std::vector<void*> table;      // of all kernels
  WorkspaceBlock workspace;
  WorkspaceBlock slots;  // slot_bytes for each worker of the pool
  std::vector<int64_t> checks;
  std::vector<std::unique_ptr<TaskGraph::Run, TaskGraph::Delete>> runs;  // per task graph
  std::vector<KernelTime>* times = nullptr;  // of this run, while it is profiled
  Cancellable* call = nullptr;               // of this run, where it has a hook
};

/// With the addresses of all buffers that no call moves, those of constants inside `loaded`: it
/// must outlive the frame and stay where it is. ErrorCode::Memory without room for the workspace.
std::unique_ptr<Frame> make_frame(const LoadedPlan& loaded);

/// Puts a buffer's address into the table of every kernel that takes it.
inline void set_address(Frame& frame, const LoadedPlan& loaded, size_t buffer, void* address) {
  frame.addresses[buffer] = address;
  for (size_t position : loaded.uses[buffer]) frame.table[position] = address;
}

}  // namespace adjit::engine
