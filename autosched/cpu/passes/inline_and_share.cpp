// autosched/cpu/passes/inline_and_share.cpp -- stages inlined into their readers, with the sums
// over pairs that share what they compute in view.
#include "autosched/cpu/passes/inline_and_share.hpp"

#include <utility>

#include "autosched/analysis/work.hpp"
#include "autosched/cpu/passes/share_pairwise.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/passes/inline_cheap.hpp"
#include "autosched/program/points.hpp"

namespace adjit::sched {
namespace {

// Vector instructions of all stages, inaccurately.
double work_of(const Program& program) {
  WorkMeter meter(program.graph.pool);
  double work = 0;
  for (const Stage& stage : program.graph.stages)
    work += box_points(stage.domain) * meter(stage.bodies).cost;
  return work;
}

}  // namespace

Program inline_and_share(const Program& program, const CpuMachine& machine, ReductionPlans& plans,
                         Choices& choices) {
  Program usual = inline_cheap_stages(program, {});
  const Shapes shapes = shapes_of_pairs(usual, machine);
  for (const std::vector<int64_t>& shape : shapes) {
    Choices trial = choices;
    ReductionPlans planned;
    Program shared = share_pairs(inline_cheap_stages(program, {shape}), machine, planned, trial);
    if (planned.empty() || work_of(shared) > (1 + thresholds().extra_work) * work_of(usual))
      continue;
    choices = std::move(trial);
    plans = std::move(planned);
    return shared;
  }
  return share_pairs(std::move(usual), machine, plans, choices);
}

}  // namespace adjit::sched
