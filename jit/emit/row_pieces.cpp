// jit/emit/row_pieces.cpp -- some lanes, and pieces of rows.
#include "jit/emit/row_pieces.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "autosched/analysis/gather_access.hpp"

namespace adjit::emit {

using llvm::Value;

void store_lanes(llvm::IRBuilder<>& builder, const VectorMath& math, Value* value, Value* pointer,
                 llvm::Align align, Value* mask) {
  const std::optional<unsigned> leading = leading_lanes(mask);
  if (!leading || math.features().avx512vl) {
    builder.CreateMaskedStore(value, pointer, align, mask);
    return;
  }
  llvm::Type* element = llvm::cast<llvm::VectorType>(value->getType())->getElementType();
  for (unsigned first = 0; first < *leading;) {
    const unsigned lanes = std::bit_floor(*leading - first);
    llvm::SmallVector<int, 64> piece(lanes);
    std::iota(piece.begin(), piece.end(), static_cast<int>(first));
    Value* part = lanes == 1 ? builder.CreateExtractElement(value, uint64_t{first})
                             : builder.CreateShuffleVector(value, piece);
    builder.CreateAlignedStore(part, builder.CreateConstInBoundsGEP1_64(element, pointer, first),
                               align);
    first += lanes;
  }
}

int64_t elements_in_piece(const Program& program, const Stage& stage, size_t component) {
  return std::max<int64_t>(1, row_piece(program.graph, stage.results[component]));
}

std::vector<const TileInstance*> piece_with(const std::vector<TileInstance>& all,
                                            const TileInstance& instance, size_t along,
                                            int64_t elements) {
  const auto length = static_cast<uint64_t>(elements);
  const uint64_t bits = copy_bits(along), trip = (instance.number & bits) >> (8 * along);
  std::vector<const TileInstance*> piece;
  for (uint64_t e = 0; length > 1 && e < length; ++e) {
    const uint64_t number = (instance.number & ~bits) | (trip - trip % length + e) << (8 * along);
    const auto found = std::ranges::find(all, number, &TileInstance::number);
    if (found == all.end() || found->live_lanes != instance.live_lanes) return {};
    piece.push_back(&*found);
  }
  return piece;
}

std::vector<Value*> pieces_of_rows(llvm::IRBuilder<>& builder, unsigned lanes,
                                   const std::vector<Value*>& transposed) {
  const size_t length = transposed.size();
  invariant(length > 0, "a piece has no elements");
  std::vector<Value*> pieces;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    llvm::SmallVector<int, 16> take;
    for (size_t e = 0; e < length; ++e)
      take.push_back(static_cast<int>(lane / length * length + e));
    pieces.push_back(builder.CreateShuffleVector(transposed[lane % length], take));
  }
  return pieces;
}

}  // namespace adjit::emit
