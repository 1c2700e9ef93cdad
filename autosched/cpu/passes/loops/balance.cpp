// autosched/cpu/passes/loops/balance.cpp -- parts of a contraction's rows that all cores finish
// together.
#include "autosched/cpu/passes/loops/balance.hpp"

#include <algorithm>
#include <limits>

#include "autosched/analysis/access.hpp"
#include "autosched/cpu/tile/tile_model.hpp"
#include "autosched/machine/thresholds.hpp"

namespace adjit::sched {

std::optional<EvenParts> even_parts(const Program& program, size_t stage, const TileChoice& tile,
                                    const CpuMachine& machine) {
  const Stage& s = program.graph.stages[stage];
  if (machine.cores < 2 || !tile.vector_axis || *tile.vector_axis == 0 || s.domain.output_rank < 2)
    return std::nullopt;
  const Accesses accesses = accesses_of(program.graph, s);
  const int64_t rows = s.domain.extents[0];
  const auto time = [&](int64_t points, const TileChoice& choice) {
    TileProblem problem{program.graph, s, accesses, s.domain.extents, cpu_of(program.target)};
    problem.spans[0] = points;
    const TileModel model(problem, *choice.vector_axis);
    const int64_t rounds = ceil_div(ceil_div(rows, points), int64_t{machine.cores});
    return model.fits(choice.factors) ? static_cast<double>(rounds) * model.cycles(choice.factors)
                                      : std::numeric_limits<double>::infinity();
  };
  double best = (1 - thresholds().tasks_gain) * time(std::min(tile.factors[0], rows), tile);
  std::optional<EvenParts> found;
  constexpr int64_t kMostTasks = 4;  // of a core
  for (int64_t tasks = 1; tasks <= kMostTasks; ++tasks) {
    const int64_t part = ceil_div(rows, tasks * machine.cores);
    if (ceil_div(rows, part) < machine.cores) continue;
    for (int64_t factor = 1; factor <= part; ++factor) {
      if (part % factor != 0 || factor > 2 * tile.factors[0]) continue;
      EvenParts parts{tile, part};
      parts.tile.factors[0] = factor;
      const double cycles = time(part, parts.tile);
      if (cycles >= best) continue;
      best = cycles;
      found = std::move(parts);
    }
  }
  return found;
}

}  // namespace adjit::sched
