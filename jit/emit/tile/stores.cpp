// jit/emit/tile/stores.cpp -- what the instances of a tile hold goes to memory.
//
// Lanes that lie one behind the other are stored whole. Lanes that lie a constant apart are stored
// one by one at addresses known when the code is made; where neighbouring instances of the tile are
// neighbours in memory, 16 bytes of each lane's row at once, transposed in registers
// (ir/transpose.hpp). Where a tile has many such lanes, a loop over them stores those of all
// instances: the values pass through the stack, but 28 vectors of 16 lanes are 56 instructions
// instead of 900, most of which a code generator would spend its time on (not on a GPU, where a
// thread's stack lies in memory). Addresses that only a vector can hold are left to a scatter.
#include "jit/emit/tile/stores.hpp"

#include <algorithm>
#include <map>

#include "jit/emit/addresses/address.hpp"
#include "jit/emit/ir/lane_memory.hpp"
#include "jit/emit/ir/stack_slots.hpp"
#include "jit/emit/ir/transpose.hpp"
#include "jit/emit/operations/memory_types.hpp"
#include "jit/emit/shape/row_pieces.hpp"
#include "jit/emit/tile/streaming.hpp"

namespace adjit::emit {

using llvm::Value;

StoreEmitter::StoreEmitter(KernelContext& kernel, const NestShape& shape,
                           std::span<const int64_t> limits, const Constraints& has_place,
                           Splats& splats, Masks& masks)
    : kernel_(kernel),
      stage_(*shape.stage),
      shape_(shape),
      limits_(limits),
      has_place_(has_place),
      splats_(splats),
      masks_(masks) {}

// Whether the lanes at a form lie so many vectors behind element 0.
bool StoreEmitter::is_vector_aligned(const Affine& form) const {
  const Affine first = kernel_.variables.without_lanes(form);
  const auto aligned = [&](int64_t elements) { return elements % int64_t{shape_.lanes} == 0; };
  return aligned(first.constant()) && std::ranges::all_of(first.coefficients(), aligned);
}

// Selects the instance, and says where its result is.
StoreEmitter::ResultPlace StoreEmitter::place_of(size_t component, const TileInstance& instance) {
  masks_.select(instance);
  const TensorId tensor = stage_.results[component];
  const DType dtype = kernel_.program.graph.info(tensor).dtype;
  const Affine form = result_form(component);
  return {kernel_.places[tensor],
          dtype,
          memory_type(kernel_.builder, dtype),
          alignment(component, form),
          alignment(component, kernel_.variables.without_lanes(form)),
          form,
          stored_mask(instance)};
}

void StoreEmitter::store_result(size_t component, Value* value, const TileInstance& instance) {
  const auto& [place, dtype, element, align, vector_align, form, mask] =
      place_of(component, instance);
  value = to_memory(kernel_.builder, kernel_.math, value, dtype);
  const bool in_lanes = value->getType()->isVectorTy();
  const std::optional<int64_t> stride = kernel_.variables.lane_stride(form);
  // A GPU branches once around lanes that lie side by side.
  const bool together = in_lanes && stride == 1 && kernel_.math.features().gpu && mask.value &&
                        !mask.value->getType()->isVectorTy();
  if (!in_lanes || together) {
    emit_if(kernel_.builder, kernel_.scopes, mask.value ? mask.value : kernel_.builder.getTrue(),
            {}, [&](Carried none) {
              Value* pointer =
                  kernel_.index.address(place.pointer, place.pointer_depth, element, form);
              kernel_.builder.CreateAlignedStore(value, pointer, vector_align);
              return none;
            });
    return;
  }
  Value* lanes = mask.value ? splats_(mask) : nullptr;
  if (stride == 1) {
    Value* pointer = kernel_.index.address(place.pointer, place.pointer_depth, element, form);
    const bool only_tail = lanes && llvm::isa<llvm::Constant>(lanes);
    if (lanes && !(only_tail && place.row_lanes == shape_.lanes)) {
      store_lanes(kernel_.builder, kernel_.math.features(), value, pointer, vector_align, lanes);
    } else {
      llvm::StoreInst* store = kernel_.builder.CreateAlignedStore(value, pointer, vector_align);
      if (shape_.nest->streamed && kernel_.streams && is_vector_aligned(form))
        store_past_caches(*store, shape_.lanes * static_cast<uint64_t>(size_of(dtype)));
    }
    return;
  }
  if (const auto live = lanes ? leading_lanes(lanes) : shape_.lanes; stride && live) {
    for (unsigned lane = 0; lane < *live; ++lane) {
      Value* to = lane_address(component, form, lane);
      kernel_.builder.CreateAlignedStore(
          kernel_.builder.CreateExtractElement(value, uint64_t{lane}), to, align);
    }
    return;
  }
  Value* pointers =
      kernel_.builder.CreateInBoundsGEP(element, place.pointer, kernel_.index.vector(form));
  kernel_.builder.CreateMaskedScatter(value, pointers, align, lanes);
}

// What divides the addresses of a form's elements.
llvm::Align StoreEmitter::alignment(size_t component, const Affine& form) const {
  const TensorId tensor = stage_.results[component];
  const auto bytes = static_cast<int64_t>(size_of(kernel_.program.graph.info(tensor).dtype));
  return alignment_at(kernel_.places[tensor], bytes, form);
}

// Where a lane's element is, for lanes a constant apart.
Value* StoreEmitter::lane_address(size_t component, const Affine& form, unsigned lane) {
  const TensorId tensor = stage_.results[component];
  const TensorPlace& place = kernel_.places[tensor];
  return kernel_.index.address(
      place.pointer, place.pointer_depth,
      memory_type(kernel_.builder, kernel_.program.graph.info(tensor).dtype),
      kernel_.variables.without_lanes(form) +
          Affine(int64_t{lane} * *kernel_.variables.lane_stride(form)));
}

std::optional<size_t> StoreEmitter::results_in_rows(size_t component) {
  const TensorPlace& place = kernel_.places[stage_.results[component]];
  const int64_t piece = elements_in_piece(kernel_.program, stage_, component);
  if (!shape_.lane_loop || shape_.lanes_in_reduction() || piece < 2 || shape_.lanes % piece != 0)
    return std::nullopt;
  const std::vector<int64_t> trips = shape_.instance_trips(limits_);
  for (size_t c = 0; c < shape_.unrolled_loops.size(); ++c) {
    const Loop& loop = shape_.nest->loops[shape_.unrolled_loops[c]];
    if (shape_.is_reduction(loop) || trips[c] < piece || place.strides[loop.axis] != 1) continue;
    const bool fixed = std::ranges::all_of(
        place.origin, [&](const Affine& origin) { return origin.coefficient(loop.variable) == 0; });
    if (fixed) return c;
  }
  return std::nullopt;
}

void StoreEmitter::store_results(size_t component, const std::vector<TileInstance>& instances,
                                 const Carried& values) {
  constexpr size_t kLanesInLoop = 64;  // of all instances, from which on a loop stores them
  const std::optional<size_t> along = results_in_rows(component);
  const bool many = instances.size() * shape_.lanes >= kLanesInLoop;
  if (!along && many && !kernel_.math.features().gpu &&
      store_by_lanes(component, instances, values))
    return;
  for (size_t o = 0; o < instances.size(); ++o) {
    std::vector<const TileInstance*> piece;
    if (along)
      piece = piece_with(instances, instances[o], *along,
                         elements_in_piece(kernel_.program, stage_, component));
    const auto everywhere = [&](const TileInstance* instance) {
      masks_.select(*instance);
      const Emitted mask = stored_mask(*instance);
      return !mask.value || leading_lanes(mask.value) == instance->live_lanes;
    };
    masks_.select(instances[o]);
    const bool apart = kernel_.variables.lane_stride(result_form(component)).value_or(1) != 1;
    if (piece.empty() || !apart || !std::ranges::all_of(piece, everywhere)) {
      store_result(component, values[o], instances[o]);
    } else if (piece.front() == &instances[o]) {
      std::vector<Value*> vectors;
      for (const TileInstance* instance : piece)
        vectors.push_back(values[static_cast<size_t>(instance - instances.data())]);
      store_rows(component, instances[o], vectors);
    }
  }
}

bool StoreEmitter::store_folded(std::span<const TileInstance> instances, const Partial& folded,
                                const Constraints& asked) {
  if (instances.size() < 2) return false;
  for (size_t k = 0; k < folded.size(); ++k)
    for (size_t o = 0; o < instances.size(); ++o) {
      masks_.select(instances[0]);
      const Affine first = result_form(k);
      masks_.select(instances[o]);
      if (masks_.all_of(asked).value || stored_mask(instances[o]).value ||
          result_form(k) != first + Affine(static_cast<int64_t>(o)))
        return false;
    }
  masks_.select(instances[0]);
  for (size_t k = 0; k < folded.size(); ++k) {
    const TensorId tensor = stage_.results[k];
    const DType dtype = kernel_.program.graph.info(tensor).dtype;
    const TensorPlace& place = kernel_.places[tensor];
    Value* pointer = kernel_.index.address(place.pointer, place.pointer_depth,
                                           memory_type(kernel_.builder, dtype), result_form(k));
    kernel_.builder.CreateAlignedStore(to_memory(kernel_.builder, kernel_.math, folded[k], dtype),
                                       pointer, alignment(k, result_form(k)));
  }
  return true;
}

// Stores all instances in loops over the lanes; false where lanes are not a constant apart, or not
// all of the first few have a place.
bool StoreEmitter::store_by_lanes(size_t component, const std::vector<TileInstance>& instances,
                                  const Carried& values) {
  if (!shape_.lane_loop || shape_.lanes_in_reduction()) return false;
  masks_.select(instances[0]);
  const Affine first = result_form(component);
  const std::optional<int64_t> stride = kernel_.variables.lane_stride(first);
  if (!stride || *stride == 1) return false;
  std::map<unsigned, std::vector<size_t>> by_live_lanes;
  std::vector<int64_t> offsets;  // of lane 0, from the first instance's
  for (size_t o = 0; o < instances.size(); ++o) {
    masks_.select(instances[o]);
    const Affine form = result_form(component), offset = form - first;
    const Emitted mask = stored_mask(instances[o]);
    if (kernel_.variables.lane_stride(form) != stride || !offset.is_constant()) return false;
    if (mask.value && leading_lanes(mask.value) != instances[o].live_lanes) return false;
    by_live_lanes[instances[o].live_lanes].push_back(o);
    offsets.push_back(offset.constant());
  }
  const TensorId tensor = stage_.results[component];
  const DType dtype = kernel_.program.graph.info(tensor).dtype;
  llvm::Type* element = memory_type(kernel_.builder, dtype);
  const llvm::Align align(size_of(dtype));
  Value* slots = stack_slots(kernel_.builder, element, instances.size() * shape_.lanes);
  const auto slot = [&](size_t instance) {
    return kernel_.builder.CreateConstInBoundsGEP1_64(element, slots, instance * shape_.lanes);
  };
  for (size_t o = 0; o < instances.size(); ++o) {
    Value* to = slot(o);
    kernel_.builder.CreateAlignedStore(to_memory(kernel_.builder, kernel_.math, values[o], dtype),
                                       to, align);
  }
  const TensorPlace& place = kernel_.places[tensor];
  Value* start = kernel_.index.address(place.pointer, place.pointer_depth, element,
                                       kernel_.variables.without_lanes(first));
  for (const auto& [live, group] : by_live_lanes)
    emit_loop(kernel_.builder, kernel_.scopes, kernel_.builder.getInt64(0),
              kernel_.builder.getInt64(live), true, {}, [&](Value* lane, Carried none) {
                Value* apart = kernel_.builder.CreateMul(lane, kernel_.builder.getInt64(*stride));
                Value* row = kernel_.builder.CreateInBoundsGEP(element, start, apart);
                Value* from = kernel_.builder.CreateInBoundsGEP(element, slots, lane);
                for (size_t o : group) {
                  const auto at = [&](Value* base, int64_t elements) {
                    return kernel_.builder.CreateInBoundsGEP(element, base,
                                                             kernel_.builder.getInt64(elements));
                  };
                  Value* value = kernel_.builder.CreateAlignedLoad(
                      element, at(from, static_cast<int64_t>(o * shape_.lanes)), align);
                  kernel_.builder.CreateAlignedStore(value, at(row, offsets[o]), align);
                }
                return none;
              });
  return true;
}

// The values of a piece's instances, a vector each, become a piece of a row for each lane.
void StoreEmitter::store_rows(size_t component, const TileInstance& first,
                              std::vector<Value*> vectors) {
  const DType dtype = kernel_.program.graph.info(stage_.results[component]).dtype;
  for (Value*& vector : vectors) vector = to_memory(kernel_.builder, kernel_.math, vector, dtype);
  const std::vector<Value*> rows = pieces_of_rows(
      kernel_.builder, shape_.lanes, transposed(kernel_.builder, shape_.lanes, vectors));
  masks_.select(first);
  const Affine form = result_form(component);
  for (unsigned lane = 0; lane < first.live_lanes; ++lane)
    kernel_.builder.CreateAlignedStore(rows[lane], lane_address(component, form, lane),
                                       alignment(component, form));
}

// Lanes of the selected instance (or whether it, without lanes) that have a place in memory; no
// value when all do.
Emitted StoreEmitter::stored_mask(const TileInstance& instance) {
  return masks_.conjunction(
      all_have_places_ ? Emitted{} : masks_.all_of(has_place_),
      shape_.lanes_in_reduction() ? Emitted{} : masks_.first_lanes(instance.live_lanes));
}

// Element of component `k`'s buffer that the selected instance defines.
Affine StoreEmitter::result_form(size_t component) const {
  const TensorPlace& place = kernel_.places[stage_.results[component]];
  Affine form;
  for (size_t d = 0; d < stage_.domain.output_rank; ++d) {
    form += shape_.axes[d] * place.strides[d];
    if (!place.origin.empty()) form -= place.origin[d] * place.strides[d];
  }
  return kernel_.variables.resolve(form);
}

Value* StoreEmitter::load_result(size_t component, const TileInstance& instance) {
  const auto& [place, dtype, element, align, vector_align, form, mask] =
      place_of(component, instance);
  if (!shape_.lane_loop || shape_.lanes_in_reduction()) {
    Value* pointer = kernel_.index.address(place.pointer, place.pointer_depth, element, form);
    if (mask.value && kernel_.math.features().gpu)
      return from_memory(kernel_.builder, kernel_.math,
                         load_where(kernel_.builder, element, pointer, align, mask.value), dtype);
    if (mask.value) pointer = kernel_.builder.CreateSelect(mask.value, pointer, place.pointer);
    return from_memory(kernel_.builder, kernel_.math,
                       kernel_.builder.CreateAlignedLoad(element, pointer, align), dtype);
  }
  auto* type = llvm::FixedVectorType::get(element, shape_.lanes);
  Value* zero = llvm::Constant::getNullValue(type);
  Value* lanes = mask.value ? splats_(mask) : nullptr;
  if (kernel_.variables.lane_stride(form) != 1) {
    Value* pointers =
        kernel_.builder.CreateInBoundsGEP(element, place.pointer, kernel_.index.vector(form));
    return from_memory(kernel_.builder, kernel_.math,
                       kernel_.builder.CreateMaskedGather(type, pointers, align, lanes, zero),
                       dtype);
  }
  Value* pointer = kernel_.index.address(place.pointer, place.pointer_depth, element, form);
  Value* loaded = lanes ? load_lanes(kernel_.builder, kernel_.math.features(), type, pointer,
                                     vector_align, lanes)
                        : kernel_.builder.CreateAlignedLoad(type, pointer, vector_align);
  return from_memory(kernel_.builder, kernel_.math, loaded, dtype);
}

}  // namespace adjit::emit
