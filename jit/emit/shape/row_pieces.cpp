// jit/emit/shape/row_pieces.cpp -- pieces of rows, and what neighbouring instances hold of them.
#include "jit/emit/shape/row_pieces.hpp"

#include <algorithm>

#include "autosched/analysis/gather_access.hpp"
#include "jit/emit/shape/instance_number.hpp"

namespace adjit::emit {

using llvm::Value;

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

std::vector<Value*> transposed(llvm::IRBuilder<>& builder, unsigned lanes,
                               const std::vector<Value*>& rows) {
  const auto group = static_cast<unsigned>(rows.size());
  const auto interleave = [&](Value* a, Value* b, bool upper) {
    llvm::SmallVector<int, 64> take;
    for (unsigned part = 0; part < lanes; part += group)
      for (unsigned e = 0; e < group / 2; ++e) {
        const unsigned element = part + e + (upper ? group / 2 : 0);
        take.push_back(static_cast<int>(element));
        take.push_back(static_cast<int>(lanes + element));
      }
    return builder.CreateShuffleVector(a, b, take);
  };
  std::vector<Value*> vectors = rows;
  for (unsigned done = 1; done < group; done *= 2) {
    std::vector<Value*> next;
    for (unsigned r = 0; r < group / 2; ++r) {
      next.push_back(interleave(vectors[r], vectors[r + group / 2], false));
      next.push_back(interleave(vectors[r], vectors[r + group / 2], true));
    }
    vectors = std::move(next);
  }
  return vectors;
}

std::vector<Value*> pieces_of_rows(llvm::IRBuilder<>& builder, unsigned lanes,
                                   const std::vector<Value*>& vectors) {
  const size_t length = vectors.size();
  invariant(length > 0, "a piece has no elements");
  std::vector<Value*> pieces;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    llvm::SmallVector<int, 16> take;
    for (size_t e = 0; e < length; ++e)
      take.push_back(static_cast<int>(lane / length * length + e));
    pieces.push_back(builder.CreateShuffleVector(vectors[lane % length], take));
  }
  return pieces;
}

}  // namespace adjit::emit
