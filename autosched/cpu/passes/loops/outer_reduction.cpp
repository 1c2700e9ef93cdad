// autosched/cpu/passes/loops/outer_reduction.cpp -- sums of products in passes over all their
// results.
#include "autosched/cpu/passes/loops/outer_reduction.hpp"

#include <algorithm>
#include <numeric>

#include "autosched/cpu/cost/interchange_cost.hpp"
#include "autosched/cpu/passes/pack/panels.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"

namespace adjit::sched {
namespace {

// What partial results of a stage cost, beside what computing them takes.
struct PartialResults {
  PartialResults(const Program& program, const Stage& stage, const Nest& nest,
                 const CpuMachine& machine) {
    const DType dtype = program.graph.info(stage.results.front()).dtype;
    const Loop& last = nest.loops.back();
    const bool folds = last.kind == LoopKind::Vector && last.axis >= stage.domain.output_rank;
    const double points = box_points(stage.domain), terms = terms_of(stage.domain);
    const double vectors =
        static_cast<double>(machine.vector_bits) / 8 / static_cast<double>(size_of(dtype));
    arithmetic = points / lanes_per_cycle(machine, size_of(dtype));
    steps = terms / (folds ? vectors : 1);
    const bool apart = last.kind == LoopKind::Vector &&
                       !accesses_of(program.graph, stage).result.contiguous(last.axis);
    resume = points / terms *
             (folds   ? machine.core.fold_cycles
              : apart ? machine.core.resume_apart_cycles
                      : machine.core.resume_cycles / vectors);
  }

  double arithmetic = 0;  // cycles
  double steps = 0;       // of a tile
  double resume = 0;      // cycles of one pass more over all results
};

// Whether a nest may leave partial results behind and go on from them.
bool may_resume(const Program& program, const NestPath& path, const Nest& nest) {
  const Stage& stage = program.graph.stages[nest.stage];
  const DType dtype = program.graph.info(stage.results.front()).dtype;
  return nest.attached.empty() && path.steps.empty() && is_product_sum(program.graph, stage) &&
         accumulator_of(dtype) == dtype;
}

std::vector<size_t> as_they_are(size_t loops) {
  std::vector<size_t> order(loops);
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

}  // namespace

Program sum_in_passes(Program program, size_t stage, const CpuMachine& machine, Choices& choices) {
  const std::optional<NestPath> path = find_nest(program, stage);
  const Nest& nest = nest_at(program, *path);
  const Stage& s = program.graph.stages[stage];
  if (!may_resume(program, *path, nest)) return program;
  const size_t first = parallel_depth(nest), end = tile_begin(nest);
  size_t reductions = first;
  while (reductions < end && nest.loops[reductions].axis < s.domain.output_rank) ++reductions;
  if (reductions == first) return program;

  const PartialResults partial(program, s, nest, machine);
  const LoneNest lone(program, path->kernel, machine);
  const std::vector<size_t> order = as_they_are(nest.loops.size());
  const double before = lone.cycles(order).l3;
  double steps = partial.steps, passes = 1, best = thresholds().pass_gain * partial.arithmetic;
  std::vector<size_t> found;
  for (size_t l = reductions; l + 1 < end && !s.domain.is_bounded(nest.loops[l].axis); ++l) {
    passes *= static_cast<double>(nest.loops[l].trips);
    steps /= static_cast<double>(nest.loops[l].trips);
    if (steps < thresholds().pass_steps) break;
    std::vector<size_t> passes_outside = order;
    const auto at = [&](size_t k) {
      return passes_outside.begin() + static_cast<std::ptrdiff_t>(k);
    };
    std::rotate(at(first), at(reductions), at(l + 1));
    const double gain = before - lone.cycles(passes_outside).l3 - (passes - 1) * partial.resume;
    if (gain <= best) continue;
    best = gain;
    found = std::move(passes_outside);
  }
  if (found.empty() || !choices.keeps(Decision::OuterReduction, program.graph, s)) return program;
  return reorder(std::move(program), stage, found);
}

Program sum_in_strips(Program program, size_t stage, const CpuMachine& machine, Choices& choices) {
  const std::optional<NestPath> path = find_nest(program, stage);
  const Nest& nest = nest_at(program, *path);
  const Stage& s = program.graph.stages[stage];
  if (!may_resume(program, *path, nest)) return program;
  const auto reduces = [&](size_t l) { return nest.loops[l].axis >= s.domain.output_rank; };
  const size_t end = tile_begin(nest);
  size_t outputs = parallel_depth(nest);  // behind passes that are outside already
  while (outputs < end && reduces(outputs)) ++outputs;
  size_t strips = outputs;
  while (strips < end && !reduces(strips)) ++strips;
  if (strips == outputs || strips + 1 >= end || s.domain.is_bounded(nest.loops[strips].axis))
    return program;

  const PartialResults partial(program, s, nest, machine);
  const auto cost = [&](const LoneNest& lone, const std::vector<size_t>& order) {
    const CacheCycles cycles = lone.cycles(order);
    return cycles.l2 + cycles.l3;
  };
  const LoneNest whole(program, path->kernel, machine);
  const int64_t trips = nest.loops[strips].trips;
  double outside = 1;  // passes that are there
  for (size_t l = parallel_depth(nest); l < outputs; ++l)
    outside *= static_cast<double>(nest.loops[l].trips);
  double best =
      cost(whole, as_they_are(nest.loops.size())) - thresholds().traffic_gain * partial.arithmetic;
  int64_t height = 0;  // of the best strips
  std::vector<size_t> found;
  for (const int64_t rows : {1, 2, 4, 8, 16}) {
    const int64_t count = ceil_div(trips, rows);
    const double passes = outside * static_cast<double>(count);
    if (count < 2 || partial.steps / passes < thresholds().strip_steps) continue;
    const LoneNest lone = rows > 1 ? whole.with_split(strips, rows) : whole;
    const double resume = (passes - outside) * partial.resume;
    for (size_t to = outputs; to < strips && resume < best; ++to) {
      std::vector<size_t> order = as_they_are(nest.loops.size() + (rows > 1 ? 1 : 0));
      const auto at = [&](size_t l) { return order.begin() + static_cast<std::ptrdiff_t>(l); };
      std::rotate(at(to), at(strips), at(strips + 1));
      const double cycles = cost(lone, order) + resume;
      if (cycles >= best) continue;
      best = cycles;
      height = rows;
      found = std::move(order);
    }
  }
  if (found.empty() || !choices.keeps(Decision::StripMine, program.graph, s)) return program;
  if (height > 1) {
    const int64_t steps[] = {height * nest.loops[strips].step};
    program = tile(std::move(program), stage, nest.loops[strips].axis, steps);
  }
  return reorder(std::move(program), stage, found);
}

}  // namespace adjit::sched
