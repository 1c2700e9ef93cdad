// jit/engine/run/loaded_plan.hpp -- a plan with its code in the process and all that its calls
// share: what they read and never change.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "jit/cpu/code.hpp"
#include "jit/cpu/parallel.hpp"
#include "jit/emit/kernel.hpp"
#include "jit/engine/plan/plan.hpp"
#include "jit/engine/run/task_graph.hpp"

namespace adjit::engine {

/// A kernel of the plan. The tables of all kernels lie one behind the other in a frame's.
struct LoadedKernel {
  KernelFunction function = nullptr;
  size_t table = 0, tensors = 0;  // position of its first tensor, and their number
  int64_t tasks = 1, in_turn = 1;
  bool parallel = false, chained = false;
  std::vector<std::pair<size_t, Buffer>> slots;  // position in the kernel's table
};

/// Steps without a scan among them, or a scan alone. With kernels that are worth several threads,
/// and more than one chain, they are a task graph.
struct Section {
  size_t begin = 0, end = 0;                      // of the steps
  size_t graph = SIZE_MAX;                        // of the plan's task graphs; SIZE_MAX: none
  std::vector<std::pair<size_t, size_t>> chains;  // of the graph's groups: begin, end
};
using Sections = std::vector<Section>;
struct ScanSections {
  Sections before, steps;
};

struct LoadedPlan {
  ExecutionPlan plan;
  std::vector<std::shared_ptr<LoadedCode>> code;  // per kernel
  std::shared_ptr<ThreadPool> pool;
  std::vector<LoadedKernel> kernels;
  std::vector<TaskGraph> graphs;
  Sections sections;                        // of the plan's steps
  std::vector<ScanSections> scan_sections;  // per scan
  std::vector<std::vector<size_t>> uses;    // per buffer: positions in the tables
  std::vector<size_t> arguments;            // buffers that are the caller's
  size_t table_size = 0;
};

/// `code[k]` defines the symbol of the plan's kernel k; kernels may share code.
LoadedPlan load_plan(ExecutionPlan plan, std::vector<std::shared_ptr<LoadedCode>> code,
                     std::shared_ptr<ThreadPool> pool);

/// The kernel that a step runs, and those behind it, before `end`, that continue its chain.
std::span<const StepPlan> chain_at(const LoadedPlan& loaded, std::span<const StepPlan> steps,
                                   size_t step, size_t end);

/// How many tasks of a chain one thread runs one after the other: those of any of its kernels.
int64_t tasks_in_turn(const LoadedPlan& loaded, std::span<const StepPlan> kernels);

}  // namespace adjit::engine
