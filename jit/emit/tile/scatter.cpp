// jit/emit/tile/scatter.cpp -- the points of a lowered scatter (autosched/lower/scatters.hpp): each
// reads, combines and writes the element that its target names.
#include "jit/emit/tile/scatter.hpp"

#include <optional>
#include <vector>

#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/segments.hpp"
#include "jit/emit/addresses/address.hpp"
#include "jit/emit/addresses/lane_addresses.hpp"
#include "jit/emit/ir/lane_memory.hpp"
#include "jit/emit/ir/transpose.hpp"
#include "jit/emit/operations/memory_types.hpp"
#include "jit/emit/scopes/loops.hpp"
#include "jit/emit/shape/row_pieces.hpp"
#include "runtime/expr/interval.hpp"

namespace adjit::emit {
namespace {

using llvm::Value;

const Stage& stage_of(const NestContext& nest) { return *nest.shape.stage; }
TensorId result_of(const NestContext& nest) { return stage_of(nest).results[0]; }
DType result_dtype(const NestContext& nest) {
  return nest.kernel.program.graph.info(result_of(nest)).dtype;
}

/// Where a point writes.
struct Written {
  Address address;
  Emitted uniform, lanes;  // conditions: for all lanes, for each
};

Written written_by(NestContext& nest, const Point& point) {
  const Stage& stage = stage_of(nest);
  const BodyContext& context = nest.body.context();
  const TensorPlace& place = nest.kernel.places[stage.results[0]];
  Written written;
  const auto require = [&](const Emitted& condition) {
    if (!condition.value) return;
    Emitted& kind = condition.value->getType()->isVectorTy() ? written.lanes : written.uniform;
    kind = nest.masks.conjunction(kind, condition);
  };
  require(point.active);
  for (size_t d = 0; d < nest.shape.target.size(); ++d) {
    const ExprId target = nest.shape.target[d];
    if (nest.body_shape.form(target)) {
      written.address.form += placed(context, target) * place.strides[d];
      continue;
    }
    const Emitted index = nest.body.coordinate(target, point);
    written.address.data.push_back({index, place.strides[d]});
    const auto range = interval_of(context.pool(), target, stage.domain.extents);
    if (range && range->lo >= 0) continue;
    Value* zero = llvm::Constant::getNullValue(index.value->getType());
    require(context.scopes.emit(index.depth,
                                [&] { return context.builder.CreateICmpSGE(index.value, zero); }));
  }
  return written;
}

// What an element becomes: elements before and values now, in registers of any number of lanes.
Value* combined(NestContext& nest, Value* before, Value* now) {
  KernelContext& kernel = nest.kernel;
  const DType dtype = result_dtype(nest);
  if (stage_of(nest).combiner.kind != CombinerKind::None) {
    Value* held = from_memory(kernel.builder, kernel.math, before, dtype);
    now = nest.combiner.combine({held}, {now})[0];
  }
  return to_memory(kernel.builder, kernel.math, now, dtype);
}

// Whether elements become themselves and a product, which one multiply-add gives.
bool adds_products(const NestContext& nest) {
  const ExprPool& pool = nest.kernel.program.graph.pool;
  const ExprId body = stage_of(nest).bodies[0];
  const DType dtype = pool.dtype(body);
  return stage_of(nest).combiner.kind == CombinerKind::Sum && pool.is(body, Op::Mul) &&
         is_float(dtype) && result_dtype(nest) == dtype && accumulator_of(dtype) == dtype;
}

// The address of lane 0, without the coordinates that differ between lanes.
Value* first_pointer(NestContext& nest, const Address& address) {
  const TensorPlace& place = nest.kernel.places[result_of(nest)];
  llvm::Type* element = memory_type(nest.kernel.builder, result_dtype(nest));
  Value* pointer = nest.kernel.index.address(place.pointer, place.depth, element, address.form);
  return moved_by_data(nest.kernel.builder, pointer, element, address);
}

// What divides that address.
llvm::Align first_alignment(const NestContext& nest, const Address& address) {
  return alignment_at(nest.kernel.places[result_of(nest)],
                      static_cast<int64_t>(size_of(result_dtype(nest))),
                      nest.kernel.variables.without_lanes(address.form), address.data);
}

// Lanes that may write one element: one after the other, as their points come. `values`: an element
// or a piece of a row for each.
void combine_in_turn(NestContext& nest, const Written& written, const std::vector<Value*>& values) {
  KernelContext& kernel = nest.kernel;
  llvm::IRBuilder<>& builder = kernel.builder;
  const unsigned lanes = nest.shape.lanes;
  const llvm::Align align(size_of(result_dtype(nest)));
  llvm::Type* type = memory_type(builder, result_dtype(nest));
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(values.front()->getType()))
    type = llvm::FixedVectorType::get(type, vector->getNumElements());
  const std::vector<Value*> rows =
      rows_of_lanes(nest.body.context(), result_of(nest), written.address, lanes).pointers;
  Value* active = written.lanes.value ? nest.splats(written.lanes) : nullptr;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const auto write = [&](Carried none) {
      Value* before = builder.CreateAlignedLoad(type, rows[lane], align);
      builder.CreateAlignedStore(combined(nest, before, values[lane]), rows[lane], align);
      return none;
    };
    if (active) {
      emit_if(builder, kernel.scopes, builder.CreateExtractElement(active, uint64_t{lane}), {},
              write);
    } else {
      write({});
    }
  }
}

llvm::FixedVectorType* vector_type(NestContext& nest) {
  return llvm::FixedVectorType::get(memory_type(nest.kernel.builder, result_dtype(nest)),
                                    nest.shape.lanes);
}

// Lanes that write elements side by side, from `pointer` on; `active`: those that do, null: all.
void combine_contiguous(NestContext& nest, Value* pointer, llvm::Align align, Value* now,
                        Value* active) {
  KernelContext& kernel = nest.kernel;
  llvm::FixedVectorType* type = vector_type(nest);
  if (!active) {
    Value* before = kernel.builder.CreateAlignedLoad(type, pointer, align);
    kernel.builder.CreateAlignedStore(combined(nest, before, now), pointer, align);
    return;
  }
  const TargetFeatures& features = kernel.math.features();
  Value* before = load_lanes(kernel.builder, features, type, pointer, align, active);
  store_lanes(kernel.builder, features, combined(nest, before, now), pointer, align, active);
}

// The same of all lanes, where what they add is a product.
void add_contiguous_products(NestContext& nest, const Point& point, const Address& address) {
  llvm::IRBuilder<>& builder = nest.kernel.builder;
  const llvm::Align align = first_alignment(nest, address);
  const ExprPool& pool = nest.kernel.program.graph.pool;
  const ExprId body = stage_of(nest).bodies[0];
  const Emitted left = nest.body(pool.operand(body, 0), point);
  const Emitted right = nest.body(pool.operand(body, 1), point);
  Value* one = nest.splats(left);
  Value* other = nest.splats(right);
  Value* pointer = first_pointer(nest, address);
  Value* before = builder.CreateAlignedLoad(vector_type(nest), pointer, align);
  Value* sum = nest.kernel.math(emit::multiply_add, one, other, before);
  builder.CreateAlignedStore(sum, pointer, align);
}

// Lanes that write different elements, wherever these are.
void combine_apart(NestContext& nest, const Address& address, Value* now, Value* active) {
  llvm::IRBuilder<>& builder = nest.kernel.builder;
  const unsigned lanes = nest.shape.lanes;
  llvm::Type* element = memory_type(builder, result_dtype(nest));
  const llvm::Align align(size_of(result_dtype(nest)));
  auto* type = llvm::FixedVectorType::get(element, lanes);
  if (!active)
    active = llvm::ConstantInt::getTrue(llvm::FixedVectorType::get(builder.getInt1Ty(), lanes));
  const Emitted offsets = lane_offsets(nest.body.context(), result_of(nest), address);
  Value* pointers = builder.CreateInBoundsGEP(element, nest.kernel.places[result_of(nest)].pointer,
                                              offsets.value);
  Value* before =
      builder.CreateMaskedGather(type, pointers, align, active, llvm::Constant::getNullValue(type));
  builder.CreateMaskedScatter(combined(nest, before, now), pointers, align, active);
}

void combine_at(NestContext& nest, const Point& point, const Written& written) {
  const NestShape& shape = nest.shape;
  llvm::IRBuilder<>& builder = nest.kernel.builder;
  const auto& [address, uniform, mask] = written;
  const bool apart = shape.lane_loop && writes_apart(nest.kernel.program.graph, stage_of(nest),
                                                     shape.nest->loops[*shape.lane_loop].axis);
  const bool contiguous =
      apart && !differs_by_data(address) && nest.kernel.variables.lane_stride(address.form) == 1;
  if (contiguous && !mask.value && adds_products(nest))
    return add_contiguous_products(nest, point, address);
  const Emitted value = nest.body(stage_of(nest).bodies[0], point);
  Value* pointer = first_pointer(nest, address);
  if (!shape.lane_loop) {
    llvm::Type* element = memory_type(builder, result_dtype(nest));
    const llvm::Align align(size_of(result_dtype(nest)));
    // Where nothing was before, nothing is loaded.
    Value* before = stage_of(nest).initial.valid()
                        ? builder.CreateAlignedLoad(element, pointer, align)
                        : nullptr;
    builder.CreateAlignedStore(combined(nest, before, value.value), pointer, align);
    return;
  }
  Value* active = mask.value ? nest.splats(mask) : nullptr;
  Value* now = nest.splats(value);
  if (!apart) {
    std::vector<Value*> values;
    for (unsigned lane = 0; lane < shape.lanes; ++lane)
      values.push_back(builder.CreateExtractElement(now, uint64_t{lane}));
    combine_in_turn(nest, written, values);
  } else if (contiguous) {
    combine_contiguous(nest, pointer, first_alignment(nest, address), now, active);
  } else {
    combine_apart(nest, address, now, active);
  }
}

// The instance variable along which the lanes write rows: elements that lie one behind the other,
// where the lanes' do not.
std::optional<size_t> instances_in_rows(const NestContext& nest) {
  const NestShape& shape = nest.shape;
  const Stage& stage = stage_of(nest);
  if (!shape.lane_loop || stage.combiner.kind == CombinerKind::None ||
      !nest.constraints.tile.empty() ||
      shape.lanes % elements_in_piece(nest.kernel.program, stage, 0) != 0)
    return std::nullopt;
  const auto along =
      nest.body_shape.contiguous_loop(nest.shape.target, nest.kernel.places[result_of(nest)]);
  return along && shape.instance_trips(nest.limits)[*along] > 0
             ? along
             : std::nullopt;  // trips of one point each
}

// The values of a piece's instances, a vector each, become a piece of a row for each lane.
void combine_rows(NestContext& nest, const std::vector<const TileInstance*>& piece,
                  const Point& first, const Written& written) {
  llvm::IRBuilder<>& builder = nest.kernel.builder;
  const unsigned lanes = nest.shape.lanes;
  std::vector<Value*> vectors;
  for (const TileInstance* instance : piece) {
    nest.masks.select(*instance);
    vectors.push_back(
        nest.splats(nest.body(stage_of(nest).bodies[0], {instance->number, first.active})));
  }
  nest.masks.select(*piece.front());
  combine_in_turn(nest, written,
                  pieces_of_rows(builder, lanes, transposed(builder, lanes, vectors)));
}

// The value of the only instance's points, and with it what their kept elements become.
Carried combine_kept(NestContext& nest, const Carried& kept) {
  count_instance(nest);
  const TileInstance instance = nest.shape.instances(nest.limits, true).front();
  nest.masks.select(instance);
  const Point point{instance.number, {}};
  const auto in_lanes = [&](const Emitted& value) {
    return nest.shape.lane_loop ? nest.splats(value) : value.value;
  };
  const ExprId body = stage_of(nest).bodies[0];
  if (nest.shape.lane_loop && adds_products(nest)) {
    const ExprPool& pool = nest.kernel.program.graph.pool;
    Value* one = in_lanes(nest.body(pool.operand(body, 0), point));
    Value* other = in_lanes(nest.body(pool.operand(body, 1), point));
    return {nest.kernel.math(emit::multiply_add, one, other, kept[0])};
  }
  Value* now = in_lanes(nest.body(body, point));
  if (stage_of(nest).combiner.kind == CombinerKind::None) return {now};
  return {nest.combiner.combine({kept[0]}, {now})[0]};
}

}  // namespace

std::optional<KeptElements> kept_elements(NestContext& nest) {
  const NestShape& shape = nest.shape;
  const Stage& stage = stage_of(nest);
  const size_t loop = shape.segment_loop->loop;
  const ExprPool& pool = nest.kernel.program.graph.pool;
  if (loop + 1 != shape.tile_begin || !shape.unrolled_loops.empty() || !stage.domain.is_box())
    return std::nullopt;
  for (const ExprId target : shape.target)
    if (!nest.body_shape.form(target) || uses(pool, target, shape.nest->loops[loop].axis))
      return std::nullopt;
  const TileInstance instance = shape.instances(nest.limits, true).front();
  if (instance.live_lanes != shape.lanes) return std::nullopt;
  const Written written = written_by(nest, {instance.number, {}});
  if (shape.lane_loop && nest.kernel.variables.lane_stride(written.address.form) != 1)
    return std::nullopt;
  llvm::Type* type = memory_type(nest.kernel.builder, result_dtype(nest));
  const auto align = shape.lane_loop ? first_alignment(nest, written.address)
                                     : llvm::Align(size_of(result_dtype(nest)));
  return KeptElements{first_pointer(nest, written.address),
                      shape.lane_loop ? vector_type(nest) : type, align};
}

Carried load_kept(NestContext& nest, const KeptElements& kept) {
  llvm::IRBuilder<>& builder = nest.kernel.builder;
  Value* before = builder.CreateAlignedLoad(kept.type, kept.pointer, kept.align);
  return {from_memory(builder, nest.kernel.math, before, result_dtype(nest))};
}

void store_kept(NestContext& nest, const KeptElements& kept, const Carried& elements) {
  llvm::IRBuilder<>& builder = nest.kernel.builder;
  Value* now = to_memory(builder, nest.kernel.math, elements[0], result_dtype(nest));
  builder.CreateAlignedStore(now, kept.pointer, kept.align);
}

Carried emit_scatter(NestContext& nest, Carried kept) {
  if (!kept.empty()) return combine_kept(nest, kept);
  KernelContext& kernel = nest.kernel;
  const std::vector<TileInstance> all = nest.shape.instances(nest.limits, true);
  const std::optional<size_t> along = instances_in_rows(nest);
  for (const TileInstance& instance : all) {
    std::vector<const TileInstance*> piece;
    if (along)
      piece =
          piece_with(all, instance, *along, elements_in_piece(kernel.program, stage_of(nest), 0));
    if (!piece.empty() && piece.front() != &instance) continue;  // written with the piece's first
    count_instance(nest);
    nest.masks.select(instance);
    const Emitted asked = nest.masks.all_of(nest.constraints.tile);
    const Point point{instance.number,
                      nest.masks.conjunction(asked, nest.masks.first_lanes(instance.live_lanes))};
    const Written written = written_by(nest, point);
    const auto write = [&](Carried none) {
      if (piece.empty()) {
        combine_at(nest, point, written);
      } else {
        combine_rows(nest, piece, point, written);
      }
      return none;
    };
    if (written.uniform.value) {
      emit_if(kernel.builder, kernel.scopes, written.uniform.value, {}, write);
    } else {
      write({});
    }
  }
  return kept;
}

}  // namespace adjit::emit
