// autosched/cpu/passes/persistent_scan.cpp -- tasks that go through all steps of a scan by
// themselves.
#include "autosched/cpu/passes/persistent_scan.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "autosched/analysis/scan_invariants.hpp"
#include "autosched/analysis/task_chains.hpp"
#include "autosched/cpu/passes/loops/balance.hpp"
#include "autosched/cpu/passes/loops/kernel.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"

namespace adjit::sched {
namespace {

// Whether what the steps of a scan are given fixed stays in every core's cache while its tasks go
// through the steps, and all steps take long enough for several cores.
bool whole_steps_pay(const Program& program, const Scan& scan, const CpuMachine& machine) {
  if (machine.cores < 2 || scan.conditional || scan.trips < thresholds().steps_that_pay)
    return false;
  double bytes = 0, points = 0;
  const std::vector<TensorId>& inputs = program.graph.inputs;
  for (size_t k = repeats_of(scan).first_same; k < inputs.size(); ++k) {
    const TensorInfo& info = program.graph.info(inputs[k]);
    bytes += static_cast<double>(info.element_count()) * static_cast<double>(size_of(info.dtype));
  }
  for (const Kernel& kernel : program.kernels) points += points_of(program, kernel);
  return bytes <= thresholds().l2_share * static_cast<double>(machine.l2_bytes) &&
         points * static_cast<double>(scan.trips) >= thresholds().large_loop;
}

// Schedules the steps' kernels, the first of `roots` before the others, whose tasks follow it;
// nullopt where tasks would need each other, or are too few.
std::optional<Program> try_whole_steps(Program program, const Scan& scan, const CpuMachine& machine,
                                       const ReductionPlans& plans, SharedTasks shared,
                                       const std::vector<size_t>& roots,
                                       const std::set<size_t>& once, Choices& choices) {
  for (size_t root : roots) {
    const bool apart = once.contains(root);
    program = schedule_kernel(std::move(program), root, machine, plans, {},
                              apart ? SharedTasks{} : shared, choices);
    const Nest& nest = nest_of(program, root);
    if (apart) continue;
    if (parallel_depth(nest) != 1) return std::nullopt;
    shared.points = nest.loops[0].step;
  }
  if (task_chains(program, &scan).tasks < machine.cores) return std::nullopt;
  return program;
}

}  // namespace

std::optional<Program> schedule_whole_steps(const Program& program, const Scan& scan,
                                            const CpuMachine& machine, const ReductionPlans& plans,
                                            Choices& choices) {
  if (!whole_steps_pay(program, scan, machine)) return std::nullopt;
  // A large operand would be read again by every task, in every step.
  if (std::ranges::any_of(plans, [](const auto& plan) { return plan.second.reads_much(); }))
    return std::nullopt;
  const std::vector<bool> before = invariant_kernels(program, scan);
  std::set<size_t> once;
  std::vector<size_t> roots;  // the one of the most points first
  double most = -1;
  for (size_t k = 0; k < program.kernels.size(); ++k) {
    const Kernel& kernel = program.kernels[k];
    const Stage& stage = program.graph.stages[kernel.root.stage];
    if (stage.kind != StageKind::Compute || running_of(program.graph, stage)) return std::nullopt;
    roots.push_back(kernel.root.stage);
    if (before[k]) once.insert(kernel.root.stage);
    if (before[k] || points_of(program, kernel) <= most) continue;
    most = points_of(program, kernel);
    std::swap(roots.front(), roots.back());
  }
  if (most < 0) return std::nullopt;
  const StageKey first = stage_key(program.graph.stages[roots.front()]);
  if (const auto planned = plans.find(first); planned != plans.end())
    if (const auto parts = even_parts(program, roots.front(), planned->second.tile, machine)) {
      ReductionPlans even = plans;
      even[first].tile = parts->tile;
      Choices trial = choices;
      if (std::optional<Program> whole = try_whole_steps(
              program, scan, machine, even, {true, parts->points}, roots, once, trial)) {
        choices = std::move(trial);
        return whole;
      }
    }
  return try_whole_steps(program, scan, machine, plans, {true, 0}, roots, once, choices);
}

}  // namespace adjit::sched
