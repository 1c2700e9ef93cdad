// jit/emit/stores.cpp -- what the copies of a tile hold goes to memory.
//
// Lanes that lie one behind the other are stored whole. Lanes that lie a constant apart are stored
// one by one at addresses known when the code is made; where neighbouring copies of the tile are
// neighbours in memory, 16 bytes of each lane's row at once, transposed in registers
// (transposed_load.cpp). Where a tile has many such lanes, a loop over them stores those of all
// copies: the values pass through the stack, but 28 vectors of 16 lanes are 56 instructions instead
// of 900, most of which a code generator would spend its time on. Addresses that only a vector can
// hold are left to a scatter.
#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "jit/emit/ir/stack_slots.hpp"
#include "jit/emit/nest.hpp"
#include "jit/emit/streaming.hpp"

namespace adjit::emit {

using llvm::Value;

// Lanes that are known to be the first few go as pieces of a power of two each: without mask
// registers a masked store is a microprogram on some processors (42 operations on Zen 3).
void NestEmitter::store_lanes(Value* value, Value* pointer, llvm::Align align, Value* mask) {
  const std::optional<unsigned> leading = leading_lanes(mask);
  if (!leading || context_.math.features().avx512vl) {
    builder_.CreateMaskedStore(value, pointer, align, mask);
    return;
  }
  llvm::Type* element = llvm::cast<llvm::VectorType>(value->getType())->getElementType();
  for (unsigned first = 0; first < *leading;) {
    const unsigned lanes = std::bit_floor(*leading - first);
    llvm::SmallVector<int, 64> piece(lanes);
    std::iota(piece.begin(), piece.end(), static_cast<int>(first));
    Value* part = lanes == 1 ? builder_.CreateExtractElement(value, uint64_t{first})
                             : builder_.CreateShuffleVector(value, piece);
    builder_.CreateAlignedStore(part, builder_.CreateConstInBoundsGEP1_64(element, pointer, first),
                                align);
    first += lanes;
  }
}

// Whether the lanes at a form lie so many vectors behind element 0.
bool NestEmitter::is_vector_aligned(const Affine& form) const {
  const Affine first = index_.without_lanes(form);
  const auto aligned = [&](int64_t elements) { return elements % int64_t{shape_.lanes} == 0; };
  return aligned(first.constant()) && std::ranges::all_of(first.coefficients(), aligned);
}

void NestEmitter::store_result(size_t component, Value* value, const TileInstance& copy) {
  select_copy(copy);
  const TensorId tensor = stage_.results[component];
  const TensorPlace& place = context_.places[tensor];
  const DType dtype = program_.graph.info(tensor).dtype;
  llvm::Type* element = body_->memory_type(dtype);
  const llvm::Align align(size_of(dtype));
  const Affine form = result_form(component);
  const Emitted mask = stored_mask(copy);
  value = body_->to_memory(value, dtype);
  if (!value->getType()->isVectorTy()) {
    emit_if(builder_, scopes_, mask.value ? mask.value : builder_.getTrue(), {}, [&](Carried none) {
      Value* pointer = index_.address(place.pointer, 0, element, form);
      builder_.CreateAlignedStore(value, pointer, align);
      return none;
    });
    return;
  }
  Value* lanes = mask.value ? body_->splat(mask) : nullptr;
  const std::optional<int64_t> stride = index_.lane_stride(form);
  if (stride == 1) {
    Value* pointer = index_.address(place.pointer, 0, element, form);
    const bool only_tail = lanes && llvm::isa<llvm::Constant>(lanes);
    if (lanes && !(only_tail && place.row_lanes == shape_.lanes)) {
      store_lanes(value, pointer, align, lanes);
    } else {
      llvm::StoreInst* store = builder_.CreateAlignedStore(value, pointer, align);
      if (nest_.streamed && context_.streams && is_vector_aligned(form))
        store_past_caches(*store, shape_.lanes * static_cast<uint64_t>(size_of(dtype)));
    }
    return;
  }
  if (const auto live = lanes ? leading_lanes(lanes) : shape_.lanes; stride && live) {
    for (unsigned lane = 0; lane < *live; ++lane)
      builder_.CreateAlignedStore(builder_.CreateExtractElement(value, uint64_t{lane}),
                                  lane_address(component, form, lane), align);
    return;
  }
  Value* pointers = builder_.CreateInBoundsGEP(element, place.pointer, index_.vector(form));
  builder_.CreateMaskedScatter(value, pointers, align, lanes);
}

// Where a lane's element is, for lanes a constant apart.
Value* NestEmitter::lane_address(size_t component, const Affine& form, unsigned lane) {
  const TensorId tensor = stage_.results[component];
  return index_.address(
      context_.places[tensor].pointer, 0, body_->memory_type(program_.graph.info(tensor).dtype),
      index_.without_lanes(form) + Affine(int64_t{lane} * *index_.lane_stride(form)));
}

// The copy variable along which results lie one behind the other, where the lanes' do not.
std::optional<size_t> NestEmitter::results_in_rows(size_t component) {
  const TensorPlace& place = context_.places[stage_.results[component]];
  const int64_t piece = elements_in_piece(component);
  if (!shape_.lane_loop || shape_.lanes_in_reduction() || piece < 2 || shape_.lanes % piece != 0)
    return std::nullopt;
  const std::vector<int64_t> trips = shape_.instance_trips(tile_limit_);
  for (size_t c = 0; c < shape_.unrolled_loops.size(); ++c) {
    const Loop& loop = nest_.loops[shape_.unrolled_loops[c]];
    if (shape_.is_reduction(loop) || trips[c] < piece || place.strides[loop.axis] != 1) continue;
    const bool fixed = std::ranges::all_of(
        place.origin, [&](const Affine& origin) { return origin.coefficient(loop.variable) == 0; });
    if (fixed) return c;
  }
  return std::nullopt;
}

// The results of all copies, in order; whole pieces of rows, or lanes of all copies, at once.
void NestEmitter::store_results(size_t component, const std::vector<TileInstance>& copies,
                                const Carried& values) {
  constexpr size_t kLanesInLoop = 64;  // of all copies, from which on a loop stores them
  const std::optional<size_t> along = results_in_rows(component);
  if (!along && copies.size() * shape_.lanes >= kLanesInLoop &&
      store_by_lanes(component, copies, values))
    return;
  for (size_t o = 0; o < copies.size(); ++o) {
    std::vector<const TileInstance*> piece;
    if (along) piece = piece_with(copies, copies[o], *along, elements_in_piece(component));
    const auto everywhere = [&](const TileInstance* copy) {
      select_copy(*copy);
      const Emitted mask = stored_mask(*copy);
      return !mask.value || leading_lanes(mask.value) == copy->live_lanes;
    };
    select_copy(copies[o]);
    const bool apart = index_.lane_stride(result_form(component)).value_or(1) != 1;
    if (piece.empty() || !apart || !std::ranges::all_of(piece, everywhere)) {
      store_result(component, values[o], copies[o]);
    } else if (piece.front() == &copies[o]) {
      std::vector<Value*> vectors;
      for (const TileInstance* copy : piece)
        vectors.push_back(values[static_cast<size_t>(copy - copies.data())]);
      store_rows(component, copies[o], vectors);
    }
  }
}

// Stores the results of copies that lie one behind the other, which are the lanes of the partial's
// components; false where they do not, or not all of them have a place.
bool NestEmitter::store_folded(std::span<const TileInstance> copies, const Partial& folded) {
  if (copies.size() < 2 || combiner_.marks_empty()) return false;
  for (size_t k = 0; k < folded.size(); ++k)
    for (size_t o = 0; o < copies.size(); ++o) {
      select_copy(copies[0]);
      const Affine first = result_form(k);
      select_copy(copies[o]);
      if (rows_mask(result_rows_).value || stored_mask(copies[o]).value ||
          result_form(k) != first + Affine(static_cast<int64_t>(o)))
        return false;
    }
  select_copy(copies[0]);
  for (size_t k = 0; k < folded.size(); ++k) {
    const TensorId tensor = stage_.results[k];
    const DType dtype = program_.graph.info(tensor).dtype;
    Value* pointer = index_.address(context_.places[tensor].pointer, 0, body_->memory_type(dtype),
                                    result_form(k));
    builder_.CreateAlignedStore(body_->to_memory(folded[k], dtype), pointer,
                                llvm::Align(size_of(dtype)));
  }
  return true;
}

// Stores all copies in loops over the lanes; false where lanes are not a constant apart, or not all
// of the first few have a place.
bool NestEmitter::store_by_lanes(size_t component, const std::vector<TileInstance>& copies,
                                 const Carried& values) {
  if (!shape_.lane_loop || shape_.lanes_in_reduction()) return false;
  select_copy(copies[0]);
  const Affine first = result_form(component);
  const std::optional<int64_t> stride = index_.lane_stride(first);
  if (!stride || *stride == 1) return false;
  std::map<unsigned, std::vector<size_t>> by_live_lanes;
  std::vector<int64_t> offsets;  // of lane 0, from the first copy's
  for (size_t o = 0; o < copies.size(); ++o) {
    select_copy(copies[o]);
    const Affine form = result_form(component), offset = form - first;
    const Emitted mask = stored_mask(copies[o]);
    if (index_.lane_stride(form) != stride || !offset.is_constant()) return false;
    if (mask.value && leading_lanes(mask.value) != copies[o].live_lanes) return false;
    by_live_lanes[copies[o].live_lanes].push_back(o);
    offsets.push_back(offset.constant());
  }
  const TensorId tensor = stage_.results[component];
  const DType dtype = program_.graph.info(tensor).dtype;
  llvm::Type* element = body_->memory_type(dtype);
  const llvm::Align align(size_of(dtype));
  Value* slots = stack_slots(builder_, element, copies.size() * shape_.lanes);
  const auto slot = [&](size_t copy) {
    return builder_.CreateConstInBoundsGEP1_64(element, slots, copy * shape_.lanes);
  };
  for (size_t o = 0; o < copies.size(); ++o)
    builder_.CreateAlignedStore(body_->to_memory(values[o], dtype), slot(o), align);
  Value* start =
      index_.address(context_.places[tensor].pointer, 0, element, index_.without_lanes(first));
  for (const auto& [live, group] : by_live_lanes)
    emit_loop(builder_, scopes_, builder_.getInt64(0), builder_.getInt64(live), true, {},
              [&](Value* lane, Carried none) {
                Value* apart = builder_.CreateMul(lane, builder_.getInt64(*stride));
                Value* row = builder_.CreateInBoundsGEP(element, start, apart);
                Value* from = builder_.CreateInBoundsGEP(element, slots, lane);
                for (size_t o : group) {
                  const auto at = [&](Value* base, int64_t elements) {
                    return builder_.CreateInBoundsGEP(element, base, builder_.getInt64(elements));
                  };
                  Value* value = builder_.CreateAlignedLoad(
                      element, at(from, static_cast<int64_t>(o * shape_.lanes)), align);
                  builder_.CreateAlignedStore(value, at(row, offsets[o]), align);
                }
                return none;
              });
  return true;
}

// The values of a piece's copies, a vector each, become a piece of a row for each lane.
void NestEmitter::store_rows(size_t component, const TileInstance& first,
                             std::vector<Value*> vectors) {
  const DType dtype = program_.graph.info(stage_.results[component]).dtype;
  for (Value*& vector : vectors) vector = body_->to_memory(vector, dtype);
  const std::vector<Value*> rows = pieces_of_rows(body_->transposed(vectors));
  select_copy(first);
  const Affine form = result_form(component);
  for (unsigned lane = 0; lane < first.live_lanes; ++lane)
    builder_.CreateAlignedStore(rows[lane], lane_address(component, form, lane),
                                llvm::Align(size_of(dtype)));
}

// A piece of a row for each lane, of vectors that hold those of lanes r, r + G, ... each.
std::vector<Value*> NestEmitter::pieces_of_rows(const std::vector<Value*>& transposed) {
  const size_t length = transposed.size();
  invariant(length > 0, "a piece has no elements");
  std::vector<Value*> pieces;
  for (unsigned lane = 0; lane < shape_.lanes; ++lane) {
    llvm::SmallVector<int, 16> take;
    for (size_t e = 0; e < length; ++e)
      take.push_back(static_cast<int>(lane / length * length + e));
    pieces.push_back(builder_.CreateShuffleVector(transposed[lane % length], take));
  }
  return pieces;
}

}  // namespace adjit::emit
