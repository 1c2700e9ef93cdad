// autosched/cpu/passes/loops/interchange_outputs.cpp -- the order in which a kernel's tiles of
// results are computed.
#include "autosched/cpu/passes/loops/interchange_outputs.hpp"

#include <algorithm>
#include <numeric>

#include "autosched/cpu/cost/interchange_cost.hpp"
#include "autosched/cpu/passes/pack/panels.hpp"
#include "autosched/machine/core_time.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"

namespace adjit::sched {
namespace {

using Order = std::vector<size_t>;  // of a nest's loops, by their positions

Order moved(Order order, size_t from, size_t to) {
  const auto at = [&](size_t k) { return order.begin() + static_cast<std::ptrdiff_t>(k); };
  if (from < to)
    std::rotate(at(from), at(from + 1), at(to + 1));
  else
    std::rotate(at(to), at(from), at(from + 1));
  return order;
}

// The serial loops over results that begin a nest; fewer where one steps over another.
size_t loops_over_results(const Nest& nest, const Domain& domain) {
  size_t loops = 0;
  for (; loops < tile_begin(nest) && nest.loops[loops].axis < domain.output_rank; ++loops)
    for (size_t l = 0; l < loops; ++l)
      if (nest.loops[l].axis == nest.loops[loops].axis) return l;
  return loops;
}

}  // namespace

OrderedResults order_results(Program program, size_t stage, const CpuMachine& machine,
                             Choices& choices) {
  constexpr size_t kFewest = 3;  // matrix products have their own order (kernel.cpp)
  const std::optional<NestPath> path = find_nest(program, stage);
  const Nest& nest = nest_at(program, *path);
  const Stage& s = program.graph.stages[stage];
  const size_t outputs = loops_over_results(nest, s.domain);
  if (!path->steps.empty() || !nest.attached.empty() || outputs < kFewest ||
      !is_product_sum(program.graph, s))
    return {std::move(program)};

  const DType dtype = accumulator_of(program.graph.info(s.results.front()).dtype);
  const double gain =
      thresholds().traffic_gain * box_points(s.domain) / lanes_per_cycle(machine, size_of(dtype));
  const LoneNest lone(program, path->kernel, machine);
  Order best(nest.loops.size());
  std::iota(best.begin(), best.end(), size_t{0});
  double least = lone.cycles(best).beyond_l2() - gain;
  for (bool better = least > 0; better;) {
    better = false;
    const Order around = best;
    for (size_t from = 0; from < outputs; ++from)
      for (size_t to = 0; to < outputs; ++to) {
        if (from == to || from == to + 1) continue;  // to + 1 goes to where `from` is: the same
        Order order = moved(around, from, to);
        const double cycles = lone.cycles(order).beyond_l2();
        if (cycles >= least) continue;
        least = (1 - thresholds().order_gain) * cycles;
        best = std::move(order);
        better = true;
      }
  }
  if (std::ranges::is_sorted(best) || !choices.keeps(Decision::Order, program.graph, s))
    return {std::move(program)};
  return {reorder(std::move(program), stage, best), true};
}

}  // namespace adjit::sched
