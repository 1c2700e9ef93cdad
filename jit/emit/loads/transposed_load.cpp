// jit/emit/loads/transposed_load.cpp -- pieces of rows, transposed in registers.
#include "jit/emit/loads/transposed_load.hpp"

#include <algorithm>
#include <span>

#include "autosched/analysis/reads/gather_access.hpp"
#include "jit/emit/addresses/lane_addresses.hpp"
#include "jit/emit/ir/lane_memory.hpp"
#include "jit/emit/ir/transpose.hpp"
#include "jit/emit/operations/memory_types.hpp"
#include "jit/emit/shape/instance_number.hpp"

namespace adjit::emit {
namespace {

using llvm::Value;

// Whether the coordinates of a read stay inside its tensor when an unrolled loop goes `past` trips
// further than the instance at hand, or back.
bool stays_inside(const BodyContext& context, ExprId read, size_t loop, int64_t past) {
  const TensorId tensor = context.pool().read_tensor(read);
  const TensorPlace& place = context.places[tensor];
  // A buffer of our own has room behind its rows; earlier instances are points of it.
  if (!place.origin.empty()) return past <= 0 || place.readable_beyond;
  const std::vector<int64_t>& shape = context.graph().info(tensor).shape;
  const std::span<const ExprId> index = context.pool().read_index(read);
  for (size_t d = 0; d < index.size(); ++d) {
    if (!(context.shape[index[d]].dependence.trips & trip_bits(loop))) continue;
    const int64_t moves = context.shape.moved_by(*context.shape.form(index[d]), loop);
    const Interval range = context.variables.range(placed(context, index[d]));
    if (range.lo + std::min<int64_t>(0, moves * past) < 0 ||
        range.hi + std::max<int64_t>(0, moves * past) >= shape[d])
      return false;
  }
  return true;
}

// Vector r holds the pieces of rows r, r + G, ..., one behind the other; rows from the live ones on
// are zeros.
std::vector<Value*> pieces_side_by_side(llvm::IRBuilder<>& builder, llvm::FixedVectorType* piece,
                                        unsigned lanes, const std::vector<Value*>& live,
                                        llvm::Align align) {
  const unsigned group = piece->getNumElements();
  std::vector<Value*> vectors;
  for (unsigned r = 0; r < group; ++r) {
    std::vector<Value*> parts;
    for (unsigned lane = r; lane < lanes; lane += group)
      parts.push_back(lane < live.size()
                          ? builder.CreateAlignedLoad(piece, live[lane], align)
                          : static_cast<Value*>(llvm::Constant::getNullValue(piece)));
    for (unsigned width = group; parts.size() > 1; width *= 2) {
      llvm::SmallVector<int, 64> both;
      for (unsigned e = 0; e < 2 * width; ++e) both.push_back(static_cast<int>(e));
      std::vector<Value*> pairs;
      for (size_t p = 0; p < parts.size(); p += 2)
        pairs.push_back(builder.CreateShuffleVector(parts[p], parts[p + 1], both));
      parts = std::move(pairs);
    }
    vectors.push_back(parts.front());
  }
  return vectors;
}

}  // namespace

std::optional<TransposedLoad> load_transposed(const BodyContext& context, const TileAtHand& tile,
                                              ExprId read, const Point& point,
                                              const Address& address) {
  const ExprPool& pool = context.pool();
  const DType dtype = pool.dtype(read);
  const unsigned lanes = context.variables.lanes();
  const TensorId tensor = pool.read_tensor(read);
  const auto group = static_cast<unsigned>(row_piece(context.graph(), tensor));
  if (group == 0 || tile.trips.empty() || lanes % group != 0) return std::nullopt;
  if (address.data.empty() && !context.variables.lane_stride(address.form)) return std::nullopt;
  const std::optional<unsigned> live =
      point.active.value ? leading_lanes(point.active.value) : lanes;
  const std::optional<size_t> loop =
      context.shape.contiguous_loop(pool.read_index(read), context.places[tensor]);
  if (!live || *live == 0 || !loop || tile.trips[*loop] == 0 ||
      context.graph().info(tensor).element_count() == 0)
    return std::nullopt;
  const int64_t trip = trip_of(point.instance, *loop);
  const int64_t first = trip - trip % group;
  const int64_t past = first + group - 1 - trip;  // the piece's last element, from the one at hand
  // The neighbouring instances' elements are there if these are points of the tile's, or anyway.
  const bool in_bounds = context.shape[read].in_bounds;
  const bool whole = first + group <= tile.trips[*loop] && (in_bounds || tile.constraints_hold);
  if (!whole && !(stays_inside(context, read, *loop, first - trip) &&
                  stays_inside(context, read, *loop, past)))
    return std::nullopt;

  auto* piece = llvm::FixedVectorType::get(memory_type(context.builder, dtype), group);
  const Address begin{address.form + Affine(first - trip), address.data};
  const LaneRows begins = rows_of_lanes(context, tensor, begin, *live);
  const llvm::Align align = alignment_at(
      context.places[tensor], static_cast<int64_t>(size_of(dtype)), begin.form, begin.data);
  const size_t depth = in_bounds ? begins.depth : context.scopes.depth();
  TransposedLoad loaded{*loop, first, {}};
  context.scopes.at(depth, [&] {
    const std::vector<Value*> rows =
        pieces_side_by_side(context.builder, piece, lanes, begins.pointers, align);
    for (Value* vector : transposed(context.builder, lanes, rows))
      loaded.values.push_back({from_memory(context.builder, context.math, vector, dtype), depth});
    return loaded.values.front().value;
  });
  return loaded;
}

}  // namespace adjit::emit
