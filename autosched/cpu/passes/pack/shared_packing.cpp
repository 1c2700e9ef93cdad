// autosched/cpu/passes/pack/shared_packing.cpp -- which copies serve a product, and with what tile.
#include "autosched/cpu/passes/pack/shared_packing.hpp"

#include <algorithm>

#include "autosched/cpu/passes/pack/panels.hpp"
#include "autosched/cpu/tile/matmul_like.hpp"

namespace adjit::sched {
std::optional<PanelShape> wanted_panels(const Graph& graph, const OperandRows& rows,
                                        const Accesses& accesses, const TileChoice& tile,
                                        size_t read) {
  const MemoryAccess& access = accesses.reads[read];
  const size_t lanes = *tile.vector_axis;
  PanelShape shape{SIZE_MAX, tile.factors[lanes] * tile.lanes};
  const bool transposed = std::ranges::find(tile.packed, read) != tile.packed.end();
  if (transposed || rows.far(access) || rows.waits_for(access)) {
    shape.dimension = dimension_of(graph, access, lanes);
  } else if (const size_t axis = rows.conflicting(access); axis != SIZE_MAX) {
    shape = {dimension_of(graph, access, axis), tile.factors[axis]};
  }
  return shape.dimension == SIZE_MAX ? std::nullopt : std::optional(shape);
}

void SharedCopies::add(const Stage& stage, TensorId operand, const TileChoice& tile,
                       PanelShape shape) {
  copied_.push_back({operand, stage.domain.extents, stage.domain.output_rank, tile, shape});
}

std::optional<TileChoice> SharedCopies::tile_for(const TileProblem& problem, const TileChoice& own,
                                                 const CpuMachine& machine) const {
  const Graph& graph = problem.graph;
  const Stage& stage = problem.stage;
  const Accesses& accesses = problem.accesses;
  const auto along_results = [&](const TileChoice& tile) {
    return tile.vector_axis && *tile.vector_axis < stage.domain.output_rank;
  };
  if (copied_.empty() || !along_results(own) || !is_product_sum(graph, stage)) return std::nullopt;
  // By number; nothing of what is copied inside the product's own loops.
  const auto panels_of = [&](const TileChoice& tile, size_t read) -> std::optional<PanelShape> {
    const MemoryAccess& access = accesses.reads[read];
    if (access.guarded || copies_panels(graph, stage, access, tile, accesses, machine))
      return std::nullopt;
    return wanted_panels(graph, OperandRows(graph, stage, accesses, tile, machine), accesses, tile,
                         read);
  };
  for (size_t r = 0; r < accesses.reads.size(); ++r) {
    const MemoryAccess& access = accesses.reads[r];
    const std::optional<PanelShape> wanted = panels_of(own, r);
    if (!wanted) continue;
    for (const Copied& copy : copied_) {
      if (copy.operand != access.tensor || copy.extents != stage.domain.extents ||
          copy.output_rank != stage.domain.output_rank || copy.shape == *wanted)
        continue;
      const std::optional<TileChoice> other = tile_with(problem, copy.tile);
      if (other && along_results(*other) && panels_of(*other, r) == copy.shape &&
          other->cycles < own.cycles + machine.core.shared_copy_cycles * access.elements)
        return other;
    }
  }
  return std::nullopt;
}

}  // namespace adjit::sched
