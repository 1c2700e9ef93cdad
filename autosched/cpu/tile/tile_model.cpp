// autosched/cpu/tile/tile_model.cpp -- cycles, registers and choices of register tiles.
#include "autosched/cpu/tile/tile_model.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "autosched/cpu/tile/cache_lines.hpp"
#include "autosched/cpu/tile/factor_choices.hpp"
#include "autosched/cpu/tile/loads.hpp"
#include "autosched/cpu/tile/stores.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/program/limits.hpp"
#include "autosched/program/points.hpp"

namespace adjit::sched {

namespace {

int64_t accumulators(const TileSetting& t, const std::vector<int64_t>& factors) {
  auto count = static_cast<int64_t>(t.p.stage.bodies.size());
  for (size_t a = 0; a < factors.size(); ++a)
    if (a < t.output_rank || (t.in_reduction && a == t.v)) count *= factors[a];
  return count;
}

}  // namespace

TileModel::TileModel(const TileProblem& problem, size_t vector_axis)
    : t_(problem, vector_axis),
      body_(problem.graph, problem.stage, t_.core),
      windows_(t_),
      predicates_(t_, windows_, body_.nodes) {
  reuses_ = std::ranges::all_of(t_.p.accesses.reads, [&](const MemoryAccess& access) {
    return box_points(t_.p.stage.domain) >= 4 * elements_touched(access, t_.p.stage.domain);
  });
  runs_ = problem.calls;  // a nest in another's loops runs with some points of its domain at a time
  const Domain& domain = problem.stage.domain;
  for (size_t a = 0; a < domain.rank(); ++a)
    runs_ *= static_cast<double>(std::max<int64_t>(domain.extents[a], 1)) /
             static_cast<double>(std::max<int64_t>(t_.p.spans[a], 1));
}

bool TileModel::fits(const std::vector<int64_t>& factors) const {
  int64_t instances = 1;
  for (size_t a = 0; a < factors.size(); ++a) {
    instances *= factors[a];
    if (factors[a] > 1 && !t_.p.may_tile(a)) return false;
  }
  if (instances == 1) return true;
  const MemoryAccess* shared = windows_.shared_read(factors);
  for (size_t a = t_.output_rank; a < factors.size() && !shared; ++a)
    if (a != t_.v && factors[a] > 1 && !takes_rows(t_, a, factors[a]) &&
        !(takes_taps(t_, a) && factors[a] == t_.p.spans[a]))
      return false;
  return accumulators(t_, factors) + body_.working_registers() + thresholds().spare_registers <=
             t_.registers &&
         (body_.arithmetic > thresholds().heavy_body || spilled(factors) == 0) &&
         instances <= (shared ? kSharingInstances : kTileInstances) &&
         static_cast<double>(instances) * body_.arithmetic <= 600;
}

int64_t TileModel::spilled(const std::vector<int64_t>& factors) const {
  int64_t live = accumulators(t_, factors) + body_.working_registers();
  for (const MemoryAccess& access : t_.p.accesses.reads) live += live_values(access, factors);
  return std::max<int64_t>(0, live - t_.registers);
}

int64_t TileModel::live_values(const MemoryAccess& access,
                               const std::vector<int64_t>& factors) const {
  if (const MemoryAccess* shared = windows_.shared_read(factors)) {
    if (&access == shared) return access.depends_on(t_.v) ? factors[t_.v] : 1;
    int64_t instances = 1;
    for (const int64_t factor : factors) instances *= factor;
    const auto kept = static_cast<int64_t>(windows_.distinct(access, factors));
    return kept < instances ? kept : 1;
  }
  int64_t live = 0;
  const auto visit = [&](size_t a) {
    if (factors[a] < 2) return;
    if (!access.depends_on(a)) {
      live = std::max<int64_t>(live, 1);
    } else if (live > 0) {
      live *= factors[a];
    }
  };
  for (size_t a = 0; a < t_.output_rank; ++a)
    if (a != t_.v) visit(a);
  visit(t_.v);
  return std::max<int64_t>(live, access.depends_on(t_.v) ? 1 : 0);
}

double TileModel::step(const std::vector<int64_t>& factors) const {
  const auto [known, fresh] = steps_.try_emplace(factors);
  if (fresh) known->second = step_of(factors);
  return known->second;
}

double TileModel::step_of(const std::vector<int64_t>& factors) const {
  double reduction = 1;
  bool steps = false;  // of the reduction, outside the tile
  for (size_t a = t_.output_rank; a < factors.size(); ++a) {
    if (!t_.in_reduction || a != t_.v) reduction *= static_cast<double>(factors[a]);
    steps |= t_.p.spans[a] > t_.points(a, factors);
  }
  double loads = 0, masks = 0, scattered = 0, far = 0;
  for (size_t r = 0; r < t_.p.accesses.reads.size(); ++r) {
    const MemoryAccess& access = t_.p.accesses.reads[r];
    const double read = windows_.distinct(access, factors);
    bool near = access.depends_on(t_.v);  // instances of a scalar load are in one cache line
    for (size_t a = 0; a < factors.size(); ++a)
      near |= access.depends_on(a) && factors[a] > 1 && t_.shares_lines(access, a);
    loads += load_cost(t_, windows_, r, factors);
    if (!near) scattered += read;
    if (fetches_far(t_, access)) {
      const size_t size = size_of(t_.p.graph.info(access.tensor).dtype);
      far += std::ceil(read * static_cast<double>(size) / 64);
    }
    loads += distance_cycles(t_, access, factors) * read;
    if (access.guarded) masks += t_.core.guard_cost * read;
  }
  loads += static_cast<double>(spilled(factors)) * t_.core.port_cycles *
           std::accumulate(factors.begin(), factors.end(), 1.0, std::multiplies<>());
  double asking = 0;  // whether a tile is at the border
  const TilePredicates::RowMasks rows = predicates_.row_masks(factors);
  if (rows.all > 0) {
    const TilePredicates::Border border = predicates_.border(factors);
    masks = border.any * (masks + rows.all) + border.lanes * (masks + rows.lanes);
    if (border.any < 1) asking = t_.core.border_cycles;
  }
  const double work = body_.operations(factors) * t_.core.port_cycles + masks * t_.core.port_cycles;
  double latency = t_.core.accumulation_cycles * reduction;
  // Whole windows do not wait for each other, as far as they are in sight.
  if (!steps && windows_.shared_read(factors))
    latency *= std::min(1.0, (work + loads) / t_.core.port_cycles / t_.core.look_ahead);
  const double others = std::max({work, loads, latency});
  return std::max(others, l2_cycles(t_, windows_, factors, others)) +
         t_.core.load_pressure * loads + t_.core.scattered_pressure * scattered +
         t_.core.far_line_cycles * far + asking + window_waits(t_, windows_, factors) +
         t_.core.streamed_line_cycles * streamed_lines(t_, windows_, factors) + t_.core.step_cycles;
}

double TileModel::cycles(const std::vector<int64_t>& factors) const {
  const double whole = step(factors);
  double tiles = 1;
  std::vector<int64_t> ragged = factors;
  for (size_t a = 0; a < factors.size(); ++a) {
    const int64_t tile = t_.points(a, factors);
    const int64_t rest = t_.p.spans[a] % tile;
    const int64_t whole_tiles = t_.p.spans[a] / tile;
    auto count = static_cast<double>(whole_tiles);
    if (rest > 0) {
      ragged[a] = a == t_.v ? ceil_div(rest, t_.lanes) : rest;
      count += step(ragged) / whole;
      ragged[a] = factors[a];
    }
    tiles *= std::max(count, 1e-9);
  }
  tiles *= predicates_.visited(factors);
  const double pass =
      tiles * whole + memory_waits(t_, factors, tiles * whole) + storing(t_, factors);
  return t_.p.passes * pass + t_.packing;
}

double TileModel::total(const std::vector<int64_t>& factors) const {
  const auto [known, fresh] = totals_.try_emplace(factors);
  if (fresh)
    known->second = cycles(factors) + thresholds().instruction_cycles * code(factors) / runs_;
  return known->second;
}

double TileModel::code(const std::vector<int64_t>& factors) const {
  auto instructions = static_cast<double>(body_.nodes);
  for (size_t a = 0; a < factors.size(); ++a) {
    const int64_t tile = t_.points(a, factors);
    instructions *= static_cast<double>(factors[a]);
    if (t_.p.spans[a] > tile && t_.p.spans[a] % tile != 0) instructions *= 2;
  }
  return instructions;
}

std::vector<int64_t> TileModel::choices(size_t axis) const {
  return factor_choices(t_, reuses_, axis);
}

}  // namespace adjit::sched
