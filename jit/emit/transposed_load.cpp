// jit/emit/transposed_load.cpp -- reads that are contiguous over the copies of a tile, but not over
// its lanes: short pieces of rows, transposed in registers.
//
// With G elements in 16 bytes and L lanes, one of the pieces of G elements that L rows begin with
// is a load; the pieces of rows r, r + G, ... make vector r of G; and log2(G) rounds of
// interleaving the 16-byte halves of these vectors (a perfect shuffle of the vectors, round by
// round) give the elements 0 .. G-1 of all rows. A gather takes a load and an insertion for every
// element, this a load and an insertion for G of them and log2(G) shuffles for a vector. Where the
// rows begin, data may decide: an image that has its channels innermost, at places that a flow
// names.
#include <algorithm>
#include <bit>

#include "autosched/analysis/gather_access.hpp"
#include "jit/emit/body.hpp"
#include "jit/emit/lane_memory.hpp"
#include "jit/emit/memory_types.hpp"
#include "jit/emit/row_pieces.hpp"

namespace adjit::emit {

using llvm::Value;

// Whether the coordinates stay inside the tensor when a copy variable goes `past` trips further
// than the copy at hand, or back.
bool BodyEmitter::stays_inside(TensorId tensor, std::span<const ExprId> index, size_t copies,
                               int64_t past) {
  // A buffer of our own has room behind its rows; earlier copies are points of it.
  if (!places_[tensor].origin.empty()) return past <= 0 || places_[tensor].readable_beyond;
  const std::vector<int64_t>& shape = graph_.info(tensor).shape;
  for (size_t d = 0; d < index.size(); ++d) {
    if (!(shape_[index[d]].dependence.trips & trip_bits(copies))) continue;
    const Affine& form = *affine(index[d]);
    const int64_t moves = shape_.moved_by(form, copies);
    const Interval range = index_.range(place(form));
    if (range.lo + std::min<int64_t>(0, moves * past) < 0 ||
        range.hi + std::max<int64_t>(0, moves * past) >= shape[d])
      return false;
  }
  return true;
}

// Where the pieces of the lanes' rows begin: `begin` is the address of the first one's.
BodyEmitter::LaneRows BodyEmitter::rows_of_lanes(
    TensorId tensor, const Affine& begin, const std::vector<std::pair<Emitted, int64_t>>& data,
    unsigned live) {
  const TensorPlace& place = places_[tensor];
  llvm::Type* element = memory_type(builder_, graph_.info(tensor).dtype);
  std::vector<Value*> pointers;
  if (const auto stride = index_.lane_stride(begin); stride && data.empty()) {
    for (unsigned lane = 0; lane < live; ++lane)
      pointers.push_back(index_.address(
          place.pointer, place.depth, element,
          index_.without_lanes(begin) + Affine(static_cast<int64_t>(lane) * *stride)));
    return {pointers, std::max(place.depth, index_.depth(begin))};
  }
  const Affine shared = shared_offset(tensor, begin);
  const Affine rest = begin - shared;
  Value* pointer = index_.address(place.pointer, place.depth, element, shared);
  const bool forwards = lies_forwards(tensor) && index_.range(rest).lo >= 0;
  const Emitted offsets = lane_offsets(tensor, rest, data);
  std::vector<Value*> apart;
  scopes_.at(offsets.depth, [&] {
    for (unsigned lane = 0; lane < live; ++lane)
      apart.push_back(lane_offset(offsets.value, lane, forwards));
    return apart.front();
  });
  const size_t depth = std::max({place.depth, index_.depth(shared), offsets.depth});
  scopes_.at(depth, [&] {
    for (Value* offset : apart)
      pointers.push_back(builder_.CreateInBoundsGEP(element, pointer, offset));
    return pointers.front();
  });
  return {pointers, depth};
}

// The read at the point's copy; what the neighbouring copies read is remembered for them.
std::optional<Emitted> BodyEmitter::load_transposed(ExprId id, const Point& point,
                                                    const Address& address,
                                                    const TensorPlace& place) {
  const DType dtype = pool_.dtype(id);
  const size_t size = size_of(dtype);
  const unsigned lanes = index_.lanes();
  const TensorId tensor = pool_.read_tensor(id);
  const auto group = static_cast<unsigned>(row_piece(graph_, tensor));
  if (group == 0 || copy_trips_.empty() || lanes % group != 0) return std::nullopt;
  if (address.data.empty() && !index_.lane_stride(address.form)) return std::nullopt;
  const std::optional<unsigned> live =
      point.active.value ? leading_lanes(point.active.value) : lanes;
  const std::optional<size_t> copies = shape_.contiguous_loop(pool_.read_index(id), place);
  if (!live || *live == 0 || !copies || copy_trips_[*copies] == 0 ||
      graph_.info(tensor).element_count() == 0)
    return std::nullopt;
  const int64_t trip = trip_of(point.instance, *copies);
  const int64_t first = trip - trip % group;
  const int64_t past = first + group - 1 - trip;  // the piece's last element, from the one at hand
  // The neighbouring copies' elements are there if these are points of the tile's, or anyway.
  const bool whole = first + group <= copy_trips_[*copies] && (address.safe || rows_hold_);
  const auto is_there = [&](int64_t trips) {
    return stays_inside(tensor, pool_.read_index(id), *copies, trips);
  };
  if (!whole && !(is_there(first - trip) && is_there(past))) return std::nullopt;

  llvm::Type* element = memory_type(builder_, dtype);
  auto* piece = llvm::FixedVectorType::get(element, group);
  const LaneRows begins =
      rows_of_lanes(tensor, address.form + Affine(first - trip), address.data, *live);
  const size_t depth = address.safe ? begins.depth : scopes_.depth();
  std::vector<Value*> loaded;
  scopes_.at(depth, [&] {
    std::vector<Value*> rows;
    for (unsigned r = 0; r < group; ++r) {
      std::vector<Value*> parts;  // of rows r, r + group, ...
      for (unsigned lane = r; lane < lanes; lane += group)
        parts.push_back(lane < *live ? builder_.CreateAlignedLoad(piece, begins.pointers[lane],
                                                                  llvm::Align(size))
                                     : static_cast<Value*>(llvm::Constant::getNullValue(piece)));
      for (unsigned width = group; parts.size() > 1; width *= 2) {
        llvm::SmallVector<int, 64> both;
        for (unsigned e = 0; e < 2 * width; ++e) both.push_back(static_cast<int>(e));
        std::vector<Value*> pairs;
        for (size_t p = 0; p < parts.size(); p += 2)
          pairs.push_back(builder_.CreateShuffleVector(parts[p], parts[p + 1], both));
        parts = std::move(pairs);
      }
      rows.push_back(parts.front());
    }
    for (Value* vector : transposed(builder_, lanes, rows))
      loaded.push_back(from_memory(builder_, math_, vector, dtype));
    return loaded.front();
  });
  for (unsigned e = 0; e < group; ++e) {
    Point other = point;
    other.instance = with_trip(point.instance, *copies, first + e);
    memo_[key(id, other)] = {{loaded[e], depth}, scopes_.serial(depth)};
  }
  return Emitted{loaded[static_cast<size_t>(trip - first)], depth};
}

}  // namespace adjit::emit
