// runtime/domain/waste.cpp -- sampling j (DESIGN 4, step 8).
#include "runtime/domain/waste.hpp"

#include <algorithm>
#include <numeric>

#include "runtime/domain/loops.hpp"
#include "runtime/domain/nest_walk.hpp"

namespace adjit::domain {

namespace {

constexpr int kSamples = 64;
constexpr int64_t kSampledIterations = 5'000;

bool can_idle(const LoopNestBounds& nest) {
  return nest.inexact > 0 || std::ranges::any_of(nest.loops, [](const LoopBounds& loop) {
           return !loop.guards_ge.empty() || !loop.guards_eq.empty();
         });
}

/// Marsaglia's xorshift: the sample only has to be spread and the same on every machine.
uint64_t next_random(uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

/// Idle iterations per point of this nest over the axes after j.
double sampled_waste(const Domain& domain, const LoopNestBounds& nest) {
  uint64_t state = 88172645463325252u;
  int64_t budget = kSampledIterations, points = 0, idle = 0;
  for (int sample = 0; sample < kSamples && budget > 0; ++sample) {
    std::vector<int64_t> j(domain.rank(), 0);
    for (size_t k = 0; k < domain.output_rank; ++k)
      j[k] = static_cast<int64_t>(next_random(state) % static_cast<uint64_t>(domain.extents[k]));
    const NestCount count = walk_nest(domain, nest, j, budget);
    points += count.points;
    idle += count.idle;
  }
  if (idle == 0) return 0;
  return static_cast<double>(idle) / static_cast<double>(std::max<int64_t>(points, 1));
}

}  // namespace

double measure_waste(FibrePiece& piece, double allowed) {
  const Domain& domain = piece.domain;
  std::vector<size_t> natural(domain.rank());
  std::iota(natural.begin(), natural.end(), size_t{0});
  const auto bounds_in = [&](std::span<const size_t> order) {
    return loop_bounds(domain, order.subspan(domain.output_rank));
  };
  const LoopNestBounds nest = bounds_in(natural);
  piece.inexact = nest.inexact;
  if (!can_idle(nest)) return 0;
  const double waste = sampled_waste(domain, nest);
  if (waste <= allowed || nest.inexact == 0) return waste;
  const std::vector<size_t> order = loop_order(domain);
  return order == natural ? waste : std::min(waste, sampled_waste(domain, bounds_in(order)));
}

}  // namespace adjit::domain
