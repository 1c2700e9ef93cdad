// autosched/cpu/passes/loops/interchange_reductions.cpp -- taps, channels, and what is contiguous.
#include "autosched/cpu/passes/loops/interchange_reductions.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "autosched/cpu/passes/pack/panels.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {
namespace {

// Pages that a second table of translations gives without delay.
constexpr int64_t kMostPages = 4 * kPagesAtHand;

// The smallest step that an operand takes along an axis, in elements.
int64_t smallest_step(const Accesses& accesses, size_t axis) {
  int64_t smallest = INT64_MAX;
  for (const MemoryAccess& access : accesses.reads)
    if (const int64_t s = access.strides[axis]; s != 0) smallest = std::min(smallest, std::abs(s));
  return smallest;
}

// Whether a condition bounds an axis of so few points that testing its loop's bounds costs as much
// as the points: it goes outside a long loop without conditions.
bool bounded_tap(const Domain& domain, size_t axis) {
  return domain.extents[axis] <= thresholds().short_axis &&
         std::ranges::any_of(domain.inequalities, [&](const Affine& row) {
           return axis < row.size() && row.coefficient(axis) != 0;
         });
}

// Whether the lines that a tile of so many instances reads along an axis can stay in L1
// until they are read again, with room for other operands and for rows that end in another line,
// and their pages at hand.
bool stays_close(const Graph& graph, const Stage& stage, std::span<const MemoryAccess> reads,
                 size_t axis, std::span<const int64_t> factors, const CpuMachine& machine) {
  return std::ranges::all_of(reads, [&](const MemoryAccess& access) {
    const auto size = static_cast<int64_t>(size_of(graph.info(access.tensor).dtype));
    const auto bytes = [&](size_t a) { return std::abs(access.strides[a]) * size; };
    const int64_t points = stage.domain.extents[axis];
    int64_t lines = ceil_div(points * std::min(bytes(axis), kLineBytes), kLineBytes);
    int64_t beside = kLineBytes;  // from the first instance to behind the last one
    for (size_t a = 0; a < factors.size(); ++a) {
      if (bytes(a) >= kLineBytes) lines *= factors[a];
      beside += (factors[a] - 1) * bytes(a);
    }
    const bool few_pages =
        bytes(axis) < kPageBytes || points * ceil_div(beside, kPageBytes) <= kMostPages;
    return few_pages && !access.irregular[axis] && lines_stay(lines, bytes(axis), machine.l1_bytes);
  });
}

// Copies of each axis in the nest's tile.
std::vector<int64_t> factors_of(const Nest& nest, size_t rank) {
  std::vector<int64_t> factors(rank, 1);
  for (const Loop& loop : nest.loops)
    if (loop.kind == LoopKind::Unrolled) factors[loop.axis] *= loop.trips;
  return factors;
}

}  // namespace

std::optional<size_t> long_axis(const Graph& graph, const Stage& stage, const Accesses& accesses) {
  const Domain& domain = stage.domain;
  if (!is_product_sum(graph, stage) || domain.reduction_rank() < 2) return std::nullopt;
  size_t innermost = domain.output_rank, longest = domain.output_rank;
  for (size_t a = domain.output_rank + 1; a < domain.rank(); ++a) {
    if (smallest_step(accesses, a) <= smallest_step(accesses, innermost)) innermost = a;
    if (domain.extents[a] > domain.extents[longest]) longest = a;
  }
  if (domain.extents[innermost] >= thresholds().long_axis ||
      domain.extents[longest] < thresholds().long_axis)
    return std::nullopt;
  return longest;
}

Packing walked_along(Packing packing, size_t dim) {
  std::vector<PackedDimension>& all = packing.dimensions;
  const auto at = std::ranges::find(all, dim, &PackedDimension::dim);
  if (at != all.end() && at + 1 < all.end()) std::rotate(at, at + 1, all.end() - 1);
  return packing;
}

Packing as_walked(const Graph& graph, const Stage& stage, const Accesses& accesses,
                  const MemoryAccess& operand, Packing packing) {
  const std::optional<size_t> axis = long_axis(graph, stage, accesses);
  const size_t dim = axis ? dimension_of(graph, operand, *axis) : SIZE_MAX;
  return dim == SIZE_MAX ? packing : walked_along(std::move(packing), dim);
}

bool walks_closely(const Graph& graph, const Stage& stage, const Accesses& accesses,
                   const Accesses& before, const TileChoice& tile, const CpuMachine& machine) {
  const std::optional<size_t> axis = long_axis(graph, stage, accesses);
  if (!axis || !tile.vector_axis) return false;
  std::vector<MemoryAccess> reads;
  for (size_t r = 0; r < accesses.reads.size(); ++r) {
    const MemoryAccess& access = accesses.reads[r];
    const bool is_copy =
        std::ranges::find(before.reads, access.tensor, &MemoryAccess::tensor) == before.reads.end();
    if (is_copy && access.depends_on(*tile.vector_axis)) return false;
    if (std::ranges::find(tile.packed, r) == tile.packed.end()) reads.push_back(access);
  }
  return stays_close(graph, stage, reads, *axis, tile.factors, machine);
}

Program order_reductions(Program program, size_t stage, const Accesses& accesses,
                         const CpuMachine& machine) {
  const Nest& nest = nest_of(program, stage);
  const Stage& s = program.graph.stages[stage];
  const Domain& domain = s.domain;
  std::vector<size_t> order(nest.loops.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto axis = [&](size_t l) { return nest.loops[l].axis; };
  const auto first =
      std::ranges::find_if(order, [&](size_t l) { return axis(l) >= domain.output_rank; });
  const auto last = order.begin() + static_cast<std::ptrdiff_t>(tile_begin(nest));
  if (first >= last || !is_commutative(s.combiner.kind)) return program;
  for (auto l = first; l != last; ++l)
    if (axis(*l) < domain.output_rank) return program;  // already interleaved
  std::stable_sort(first, last, [&](size_t a, size_t b) {
    return smallest_step(accesses, axis(a)) > smallest_step(accesses, axis(b));
  });
  const auto tap = [&](size_t l) { return bounded_tap(domain, axis(l)); };
  if (std::any_of(first, last, [&](size_t l) {
        return !tap(l) && nest.loops[l].trips >= thresholds().long_axis;
      }))
    std::stable_partition(first, last, tap);
  if (const std::optional<size_t> inside = long_axis(program.graph, s, accesses);
      inside && stays_close(program.graph, s, accesses.reads, *inside,
                            factors_of(nest, domain.rank()), machine))
    std::stable_partition(first, last, [&](size_t l) { return axis(l) != *inside; });
  return with_order(std::move(program), stage, order);
}

}  // namespace adjit::sched
