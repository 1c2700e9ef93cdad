// autosched/gpu/flat_schedule.cpp -- output loops in parallel, kernel by kernel.
#include "autosched/gpu/flat_schedule.hpp"

#include <utility>
#include <vector>

#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "runtime/expr/error.hpp"

namespace adjit::sched {
namespace {

// As many of the outermost loops as may be; others refuse them all.
void make_parallel(Program& program, size_t stage) {
  for (size_t loops = program.graph.stages[stage].domain.output_rank; loops > 0; --loops) {
    try {
      program = parallel(program, stage, loops);
      return;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Schedule) throw;
    }
  }
}

// Recursive over scans within scans.
Program flattened(Program program) {
  std::vector<size_t> stages;
  for (const Kernel& kernel : program.kernels) stages.push_back(kernel.root.stage);
  for (size_t k = 0; k < stages.size(); ++k) {
    if (program.kernels[k].steps) {
      Program steps = flattened(*program.kernels[k].steps);
      program = schedule_scan(std::move(program), stages[k], std::move(steps));
    } else {
      make_parallel(program, stages[k]);
    }
  }
  return program;
}

}  // namespace

Program flat_schedule(const Graph& graph, const GpuMachine& machine) {
  return flattened(initial_program(graph, machine));
}

}  // namespace adjit::sched
