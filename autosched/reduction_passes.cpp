// autosched/reduction_passes.cpp -- sums of products in passes over all their results.
#include "autosched/reduction_passes.hpp"

#include <algorithm>
#include <numeric>

#include "autosched/lone_nest.hpp"
#include "autosched/moves.hpp"
#include "autosched/nests.hpp"
#include "autosched/panels.hpp"
#include "autosched/work.hpp"

namespace adjit {
namespace {

constexpr double kResume = 2;           // cycles to load a vector of partial results and store it
constexpr double kFold = 16;            // cycles to fold the lanes into one of them
constexpr double kLeastSteps = 128;     // of a tile in a pass
constexpr double kLeastPassGain = 0.5;  // of the time that the multiply-adds take

double reduction_steps(const Domain& domain) {
  double steps = 1;
  for (size_t a = domain.output_rank; a < domain.rank(); ++a)
    steps *= static_cast<double>(domain.extents[a]);
  return steps;
}

}  // namespace

Program sum_in_passes(Program program, size_t stage, const Target& target, Choices& choices) {
  const std::optional<NestPath> path = find_nest(program, stage);
  const Nest& nest = nest_at(program, *path);
  const Stage& s = program.graph.stages[stage];
  const DType dtype = program.graph.info(s.results.front()).dtype;
  if (!nest.attached.empty() || !path->steps.empty() || !is_product_sum(program.graph, s) ||
      accumulator_of(dtype) != dtype)
    return program;
  const size_t first = parallel_depth(nest), end = tile_begin(nest);
  size_t reductions = first;
  while (reductions < end && nest.loops[reductions].axis < s.domain.output_rank) ++reductions;
  if (reductions == first) return program;

  const double points = box_points(s.domain);
  const double results = points / reduction_steps(s.domain);
  const double vectors =
      static_cast<double>(target.vector_bits) / 8 / static_cast<double>(size_of(dtype));
  const double arithmetic = points / lanes_per_cycle(target, size_of(dtype));
  const Loop& last = nest.loops.back();
  const bool folds = last.kind == LoopKind::Vector && last.axis >= s.domain.output_rank;
  const double resume = folds ? kFold * results : kResume * results / vectors;
  const LoneNest lone(program, path->kernel, target);
  std::vector<size_t> order(nest.loops.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const double before = lone.cycles(order).l3;
  double steps = reduction_steps(s.domain) / (folds ? vectors : 1), passes = 1,
         best = kLeastPassGain * arithmetic;
  std::vector<size_t> found;
  for (size_t l = reductions; l + 1 < end && !s.domain.is_bounded(nest.loops[l].axis); ++l) {
    passes *= static_cast<double>(nest.loops[l].trips);
    steps /= static_cast<double>(nest.loops[l].trips);
    if (steps < kLeastSteps) break;
    std::vector<size_t> passes_outside = order;
    const auto at = [&](size_t k) {
      return passes_outside.begin() + static_cast<std::ptrdiff_t>(k);
    };
    std::rotate(at(first), at(reductions), at(l + 1));
    const double gain = before - lone.cycles(passes_outside).l3 - (passes - 1) * resume;
    if (gain <= best) continue;
    best = gain;
    found = std::move(passes_outside);
  }
  if (found.empty() || !choices.keeps(Decision::Passes, program.graph, s)) return program;
  return reorder(std::move(program), stage, found);
}

}  // namespace adjit
