// jit/emit/shape/row_pieces.cpp -- pieces of rows, and what neighbouring instances hold of them.
#include "jit/emit/shape/row_pieces.hpp"

#include <algorithm>

#include "autosched/analysis/reads/gather_access.hpp"
#include "jit/emit/shape/instance_number.hpp"

namespace adjit::emit {

int64_t elements_in_piece(const Program& program, const Stage& stage, size_t component) {
  return std::max<int64_t>(1, row_piece(program.graph, stage.results[component]));
}

std::vector<const TileInstance*> piece_with(const std::vector<TileInstance>& all,
                                            const TileInstance& instance, size_t along,
                                            int64_t elements) {
  const int64_t trip = trip_of(instance.number, along), first = trip - trip % elements;
  std::vector<const TileInstance*> piece;
  for (int64_t e = 0; elements > 1 && e < elements; ++e) {
    const auto found =
        std::ranges::find(all, with_trip(instance.number, along, first + e), &TileInstance::number);
    if (found == all.end() || found->live_lanes != instance.live_lanes) return {};
    piece.push_back(&*found);
  }
  return piece;
}

}  // namespace adjit::emit
