// jit/emit/tile/scatter.cpp -- the points of a lowered scatter (autosched/lower/scatters.hpp): each
// reads, combines and writes the element that its target names.
#include "jit/emit/tile/scatter.hpp"

#include <algorithm>

#include "autosched/analysis/gather_access.hpp"
#include "autosched/program/nests.hpp"
#include "jit/emit/addresses/lane_addresses.hpp"
#include "jit/emit/ir/lane_memory.hpp"
#include "jit/emit/operations/memory_types.hpp"
#include "jit/emit/scopes/loops.hpp"
#include "jit/emit/shape/row_pieces.hpp"
#include "runtime/expr/interval.hpp"

namespace adjit::emit {

using llvm::Value;

ScatterEmitter::ScatterEmitter(NestContext& nest)
    : nest_(nest),
      program_(nest.kernel.program),
      stage_(*nest.shape.stage),
      shape_(nest.shape),
      builder_(nest.kernel.builder),
      scopes_(nest.kernel.scopes),
      index_(nest.kernel.index),
      body_(nest.body),
      combiner_(nest.combiner),
      masks_(nest.masks) {}

void ScatterEmitter::write_instances() {
  const Constraints& asked = nest_.constraints.tile;
  const std::vector<TileInstance> all = shape_.instances(nest_.limits, true);
  const std::optional<size_t> along = instances_in_rows();
  for (const TileInstance& instance : all) {
    const std::vector<const TileInstance*> piece =
        along ? piece_with(all, instance, *along, elements_in_piece(program_, stage_, 0))
              : std::vector<const TileInstance*>();
    if (!piece.empty() && piece.front() != &instance) continue;  // written with the piece's first
    count_instance(nest_);
    masks_.select(instance);
    const Point point{instance.number,
                      masks_.both(masks_.all_of(asked), masks_.first_lanes(instance.live_lanes))};
    const Written written = written_by(point);
    const auto write = [&](Carried none) {
      if (piece.empty()) {
        combine_at(point, written);
      } else {
        combine_rows(piece, point, written);
      }
      return none;
    };
    if (written.uniform.value) {
      emit_if(builder_, scopes_, written.uniform.value, {}, write);
    } else {
      write({});
    }
  }
}

ScatterEmitter::Written ScatterEmitter::written_by(const Point& point) {
  const TensorPlace& place = nest_.kernel.places[stage_.results[0]];
  Written written;
  const auto require = [&](const Emitted& condition) {
    if (!condition.value) return;
    Emitted& kind = condition.value->getType()->isVectorTy() ? written.lanes : written.uniform;
    kind = masks_.both(kind, condition);
  };
  require(point.active);
  for (size_t d = 0; d < stage_.target.size(); ++d) {
    if (body_.context().shape.form(stage_.target[d])) {
      written.address.form += placed(body_.context(), stage_.target[d]) * place.strides[d];
      continue;
    }
    const Emitted index = body_.coordinate(stage_.target[d], point);
    written.address.data.push_back({index, place.strides[d]});
    const auto range = interval_of(program_.graph.pool, stage_.target[d], stage_.domain.extents);
    if (range && range->lo >= 0) continue;
    Value* zero = llvm::Constant::getNullValue(index.value->getType());
    require({scopes_.at(index.depth, [&] { return builder_.CreateICmpSGE(index.value, zero); }),
             index.depth});
  }
  return written;
}

// What an element becomes: elements before and values now, in registers of any number of lanes.
Value* ScatterEmitter::combined(Value* before, Value* now) {
  const DType dtype = program_.graph.info(stage_.results[0]).dtype;
  if (stage_.combiner.kind == CombinerKind::None)
    return to_memory(builder_, nest_.kernel.math, now, dtype);
  return to_memory(
      builder_, nest_.kernel.math,
      combiner_.combine({from_memory(builder_, nest_.kernel.math, before, dtype)}, {now})[0],
      dtype);
}

// A row's elements before and a product, by one multiply-add; nothing where that is not what is
// combined.
std::optional<Value*> ScatterEmitter::with_product(const Point& point, Value* before) {
  const ExprPool& pool = program_.graph.pool;
  const ExprId body = stage_.bodies[0];
  const DType dtype = pool.dtype(body);
  if (stage_.combiner.kind != CombinerKind::Sum || !pool.is(body, Op::Mul) || !is_float(dtype) ||
      program_.graph.info(stage_.results[0]).dtype != dtype || accumulator_of(dtype) != dtype)
    return std::nullopt;
  const auto factor = [&](size_t k) { return nest_.splats(body_(pool.operand(body, k), point)); };
  Value* right = factor(1);
  return nest_.kernel.math(emit::multiply_add, factor(0), right, before);
}

void ScatterEmitter::combine_at(const Point& point, const Written& written) {
  const TensorPlace& place = nest_.kernel.places[stage_.results[0]];
  const DType dtype = program_.graph.info(stage_.results[0]).dtype;
  llvm::Type* element = memory_type(builder_, dtype);
  const llvm::Align align(size_of(dtype));
  const auto& [address, uniform, mask] = written;
  const Emitted value = body_(stage_.bodies[0], point);
  // The address of lane 0, without the coordinates that differ between lanes.
  Value* pointer = index_.address(place.pointer, place.depth, element, address.form);
  pointer = moved_by_data(builder_, pointer, element, address);
  if (!shape_.lane_loop) {
    Value* before = builder_.CreateAlignedLoad(element, pointer, align);
    builder_.CreateAlignedStore(combined(before, value.value), pointer, align);
    return;
  }
  auto* type = llvm::FixedVectorType::get(element, shape_.lanes);
  Value* zero = llvm::Constant::getNullValue(type);
  Value* active = mask.value ? nest_.splats(mask)
                             : llvm::ConstantInt::getTrue(
                                   llvm::FixedVectorType::get(builder_.getInt1Ty(), shape_.lanes));
  Value* now = nest_.splats(value);
  if (!writes_apart(program_.graph, stage_, shape_.nest->loops[*shape_.lane_loop].axis)) {
    std::vector<Value*> values;
    for (unsigned lane = 0; lane < shape_.lanes; ++lane)
      values.push_back(builder_.CreateExtractElement(now, uint64_t{lane}));
    combine_in_turn(written, values);
    return;
  }
  if (!differs_by_data(address) && index_.lane_stride(address.form) == 1) {
    if (!mask.value) {
      Value* before = builder_.CreateAlignedLoad(type, pointer, align);
      builder_.CreateAlignedStore(with_product(point, before).value_or(combined(before, now)),
                                  pointer, align);
      return;
    }
    Value* before =
        load_lanes(builder_, nest_.kernel.math.features(), type, pointer, align, active);
    store_lanes(builder_, nest_.kernel.math.features(), combined(before, now), pointer, align,
                active);
    return;
  }
  Value* pointers = builder_.CreateInBoundsGEP(
      element, place.pointer, lane_offsets(body_.context(), stage_.results[0], address).value);
  Value* before = builder_.CreateMaskedGather(type, pointers, align, active, zero);
  builder_.CreateMaskedScatter(combined(before, now), pointers, align, active);
}

// The instance variable along which the lanes write rows: elements that lie one behind the other,
// where the lanes' do not.
std::optional<size_t> ScatterEmitter::instances_in_rows() {
  const TensorId result = stage_.results[0];
  if (!shape_.lane_loop || stage_.combiner.kind == CombinerKind::None ||
      !nest_.constraints.tile.empty() || shape_.lanes % elements_in_piece(program_, stage_, 0) != 0)
    return std::nullopt;
  const auto along =
      body_.context().shape.contiguous_loop(stage_.target, nest_.kernel.places[result]);
  return along && shape_.instance_trips(nest_.limits)[*along] > 0
             ? along
             : std::nullopt;  // trips of one point each
}

// The values of a piece's instances, a vector each, become a piece of a row for each lane.
void ScatterEmitter::combine_rows(const std::vector<const TileInstance*>& piece, const Point& first,
                                  const Written& written) {
  std::vector<Value*> vectors;
  for (const TileInstance* instance : piece) {
    masks_.select(*instance);
    vectors.push_back(nest_.splats(body_(stage_.bodies[0], {instance->number, first.active})));
  }
  masks_.select(*piece.front());
  combine_in_turn(
      written, pieces_of_rows(builder_, shape_.lanes, transposed(builder_, shape_.lanes, vectors)));
}

// Lanes that may write one element: one after the other, as their points come. `values`: an element
// or a piece of a row for each.
void ScatterEmitter::combine_in_turn(const Written& written, const std::vector<Value*>& values) {
  const TensorId result = stage_.results[0];
  const DType dtype = program_.graph.info(result).dtype;
  const llvm::Align align(size_of(dtype));
  llvm::Type* type = memory_type(builder_, dtype);
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(values.front()->getType()))
    type = llvm::FixedVectorType::get(type, vector->getNumElements());
  const std::vector<Value*> rows =
      rows_of_lanes(body_.context(), result, written.address, shape_.lanes).pointers;
  Value* active = written.lanes.value ? nest_.splats(written.lanes) : nullptr;
  for (unsigned lane = 0; lane < shape_.lanes; ++lane) {
    const auto write = [&](Carried none) {
      Value* before = builder_.CreateAlignedLoad(type, rows[lane], align);
      builder_.CreateAlignedStore(combined(before, values[lane]), rows[lane], align);
      return none;
    };
    if (active) {
      emit_if(builder_, scopes_, builder_.CreateExtractElement(active, uint64_t{lane}), {}, write);
    } else {
      write({});
    }
  }
}

}  // namespace adjit::emit
