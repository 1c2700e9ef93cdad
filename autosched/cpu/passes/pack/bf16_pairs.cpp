// autosched/cpu/passes/pack/bf16_pairs.cpp -- which operands have pairs, and their copies.
#include "autosched/cpu/passes/pack/bf16_pairs.hpp"

#include <algorithm>

#include "autosched/cpu/passes/pack/panels.hpp"
#include "autosched/cpu/passes/pack/profit.hpp"
#include "autosched/machine/thresholds.hpp"

namespace adjit::sched {
namespace {

bool is_product_of_bfloat16(const Graph& graph, const Stage& stage) {
  const ExprPool& pool = graph.pool;
  if (!is_product_sum(graph, stage) || !stage.domain.is_box()) return false;
  return std::ranges::all_of(pool.operands(stage.bodies.front()), [&](ExprId factor) {
    return pool.is(factor, Op::Cast) && pool.is(pool.operand(factor, 0), Op::Read) &&
           pool.dtype(pool.operand(factor, 0)) == DType::BFloat16;
  });
}

}  // namespace

std::optional<size_t> pair_axis(const Graph& graph, const Stage& stage, const Accesses& accesses,
                                const CpuMachine& machine) {
  if (!machine.bfloat16_pairs || !is_product_of_bfloat16(graph, stage)) return std::nullopt;
  if (accesses.reads.size() != 2 || accesses.reads[0].tensor == accesses.reads[1].tensor)
    return std::nullopt;
  for (const MemoryAccess& access : accesses.reads)
    if (access.guarded || reuse(stage, access) < thresholds().pack_reuse) return std::nullopt;
  std::optional<size_t> best;
  int64_t best_contiguous = -1;
  for (size_t a = stage.domain.output_rank; a < stage.domain.rank(); ++a) {
    if (stage.domain.extents[a] % 2 != 0 || stage.domain.extents[a] < 8) continue;
    if (!std::ranges::all_of(accesses.reads, [&](const MemoryAccess& access) {
          return dimension_of(graph, access, a) != SIZE_MAX && !access.irregular[a];
        }))
      continue;
    const int64_t contiguous =
        std::ranges::count_if(accesses.reads, [&](const auto& read) { return read.contiguous(a); });
    if (contiguous > best_contiguous) {
      best = a;
      best_contiguous = contiguous;
    }
  }
  return best;
}

std::optional<Packing> pairs_of(const Graph& graph, const Stage& stage, const MemoryAccess& access,
                                const TileChoice& tile, size_t axis,
                                std::span<const size_t> tasks) {
  const size_t pair = dimension_of(graph, access, axis), lanes = *tile.vector_axis;
  if (access.depends_on(lanes)) {
    const size_t dim = dimension_of(graph, access, lanes);
    if (dim != SIZE_MAX)
      return in_pairs(panels(graph, stage, access, dim, tile.factors[lanes] * tile.lanes, tasks),
                      pair);
    if (access.strides[lanes] != 1 || access.irregular[lanes]) return std::nullopt;
    return in_pairs(as_it_is(graph, access.tensor), pair);
  }
  for (size_t a = 0; a < stage.domain.output_rank; ++a)
    if (const size_t dim = dimension_of(graph, access, a);
        tile.factors[a] > 1 && dim != SIZE_MAX && !access.irregular[a])
      return in_pairs(panels(graph, stage, access, dim, tile.factors[a], tasks), pair);
  return in_pairs(as_it_is(graph, access.tensor), pair);
}

}  // namespace adjit::sched
