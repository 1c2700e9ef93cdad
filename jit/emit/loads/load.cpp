// jit/emit/loads/load.cpp -- reads as loads.
#include "jit/emit/loads/load.hpp"

#include <algorithm>
#include <span>

#include <llvm/IR/Module.h>

#include "jit/emit/addresses/conditions.hpp"
#include "jit/emit/addresses/lane_addresses.hpp"
#include "jit/emit/ir/lane_memory.hpp"
#include "jit/emit/loads/load_windows.hpp"
#include "jit/emit/loads/prefetch.hpp"
#include "jit/emit/loads/transposed_load.hpp"
#include "jit/emit/operations/memory_types.hpp"
#include "jit/emit/shape/instance_number.hpp"

namespace adjit::emit {
namespace {

using llvm::Value;

// The pointer where a condition holds, else one to a zero of our own: loads need no branch.
Value* or_zero(llvm::IRBuilder<>& builder, Value* condition, Value* pointer) {
  llvm::Module* module = builder.GetInsertBlock()->getModule();
  llvm::Type* zero_type = llvm::ArrayType::get(builder.getInt8Ty(), 16);
  auto* zero = llvm::cast<llvm::GlobalVariable>(module->getOrInsertGlobal("adjit_zero", zero_type));
  if (!zero->hasInitializer()) {
    zero->setInitializer(llvm::Constant::getNullValue(zero_type));
    zero->setConstant(true);
    zero->setLinkage(llvm::GlobalValue::InternalLinkage);
    zero->setAlignment(llvm::Align(16));
  }
  return builder.CreateSelect(condition, pointer, zero);
}

}  // namespace

Emitted LoadEmitter::read(ExprId id, const Point& point) {
  const bool predicated = context_.pool().read_predicate(id).valid();
  const Access access = access_of(id, point);
  const auto& [read, place, address, conditions, lanes] = access;
  if (lanes && !predicated && (differs_by_data(address) || !reads_whole_vectors(address)))
    if (const auto piece = load_transposed(context_, tile_, id, point, address)) {
      for (size_t e = 0; e < piece->values.size(); ++e) {
        const int64_t trip = piece->first + static_cast<int64_t>(e);
        values_.remember(id, {with_trip(point.instance, piece->loop, trip), point.active},
                         piece->values[e]);
      }
      return *values_.find(id, point);
    }
  if (!address.data.empty() || predicated) return load(access);
  const PointKey key{context_.pool().read_tensor(id).value,
                     static_cast<uint64_t>(address.form.constant()),
                     conditions.empty() ? nullptr : point.active.value};
  if (const Loaded* known = loaded_.find(key); known && known->form == address.form)
    return known->emitted;
  const Emitted loaded = load(access);
  loaded_.remember(key, {address.form, loaded}, loaded.depth);
  return loaded;
}

LoadEmitter::Access LoadEmitter::access_of(ExprId id, const Point& point) const {
  const ExprPool& pool = context_.pool();
  const KernelVariables& variables = context_.variables;
  Access access{id, context_.places[pool.read_tensor(id)], {}, {}};
  Address& address = access.address;
  const std::span<const ExprId> coordinates = pool.read_index(id);
  for (size_t d = 0; d < coordinates.size(); ++d) {
    const int64_t stride = access.place.strides[d];
    if (!access.place.origin.empty())
      address.form -= variables.resolve(access.place.origin[d]) * stride;
    if (context_.shape.form(coordinates[d])) {
      address.form += placed(context_, coordinates[d]) * stride;
    } else {
      address.data.push_back({coordinates_(coordinates[d], point), stride});
    }
  }
  access.lanes = variables.in_lanes(address.form) || differs_by_data(address);
  // Lanes past the end of a row are read and not used where there is room behind it.
  const auto* known = llvm::dyn_cast_or_null<llvm::Constant>(point.active.value);
  // An instance without any lane may lie outside in other directions. What it loads is selected
  // away: code for a CPU leaves it to the back end to drop the load.
  const bool none = known && known->isNullValue() && context_.math.features().gpu;
  const bool tail = known && !none;
  const bool beyond = tail && access.lanes && variables.lane_stride(address.form) == 1 &&
                      ((access.place.readable_beyond && address.data.empty()) ||
                       (!differs_by_data(address) && has_room_in_row(id, access.place)));
  if (point.active.value && !beyond && !context_.shape[id].in_shared_memory &&
      (access.lanes || !context_.shape[id].in_bounds))
    access.conditions.push_back(point.active);
  if (const ExprId predicate = pool.read_predicate(id); predicate.valid())
    access.conditions.push_back(*values_.find(predicate, point));
  return access;
}

// Whether all lanes read elements of one row of a tensor, also those of no points.
bool LoadEmitter::has_room_in_row(ExprId read, const TensorPlace& place) const {
  const std::span<const ExprId> index = context_.pool().read_index(read);
  if (index.empty() || !place.origin.empty() || place.strides.back() != 1) return false;
  if (!context_.shape.form(index.back())) return false;
  const Affine last = placed(context_, index.back());
  if (context_.variables.lane_stride(last) != 1) return false;
  const Interval range = context_.variables.range(last);
  return range.lo >= 0 &&
         range.hi < context_.graph().info(context_.pool().read_tensor(read)).shape.back();
}

// Whether the lanes' elements are next to each other, or so near that few vectors hold them.
bool LoadEmitter::reads_whole_vectors(const Address& address) const {
  const std::optional<int64_t> stride = context_.variables.lane_stride(address.form);
  if (stride && (*stride == 1 || *stride == -1)) return true;
  const auto pattern = context_.variables.lane_pattern(address.form);
  return pattern && LaneWindows(*pattern).worthwhile();
}

Emitted LoadEmitter::load(const Access& access) {
  return access.lanes ? load_in_lanes(access) : load_uniform(access);
}

Emitted LoadEmitter::load_uniform(const Access& access) {
  const auto& [read, place, address, conditions, lanes] = access;
  llvm::IRBuilder<>& builder = context_.builder;
  const DType dtype = context_.pool().dtype(read);
  llvm::Type* type = memory_type(builder, dtype);
  size_t depth = std::max(place.depth, context_.variables.depth(address.form));
  for (const DataCoordinate& d : address.data) depth = std::max(depth, d.index.depth);
  // What is in bounds only under a loop's bounds or a guard stays inside it.
  if (!context_.shape[read].in_bounds) depth = context_.scopes.depth();
  const Emitted condition = conjunction(context_, conditions, false);
  depth = std::max(depth, condition.depth);
  Value* pointer = context_.index.address(place.pointer, place.depth, type, address.form);
  const llvm::Align align =
      alignment_at(place, static_cast<int64_t>(size_of(dtype)), address.form, address.data);
  Emitted result = context_.scopes.emit(depth, [&] {
    pointer = moved_by_data(builder, pointer, type, access.address);
    if (condition.value && context_.math.features().gpu)
      return from_memory(builder, context_.math,
                         load_where(builder, type, pointer, align, condition.value), dtype);
    if (condition.value) pointer = or_zero(builder, condition.value, pointer);
    return from_memory(builder, context_.math, builder.CreateAlignedLoad(type, pointer, align),
                       dtype);
  });
  // A predicate that differs between lanes selects lane by lane.
  for (const Emitted& c : conditions) {
    if (!c.value->getType()->isVectorTy()) continue;
    Value* wide = context_.splats(result);
    result = context_.scopes.emit(std::max(result.depth, c.depth), [&] {
      return builder.CreateSelect(c.value, wide, llvm::Constant::getNullValue(wide->getType()));
    });
  }
  return result;
}

Emitted LoadEmitter::load_in_lanes(const Access& access) {
  const auto& [read, place, address, conditions, lanes] = access;
  const KernelVariables& variables = context_.variables;
  const std::optional<int64_t> stride =
      differs_by_data(address) ? std::nullopt : variables.lane_stride(address.form);
  const bool contiguous = stride && (*stride == 1 || *stride == -1);
  // A GPU branches once around lanes that lie side by side.
  const bool together = contiguous && context_.math.features().gpu &&
                        std::ranges::none_of(conditions, [](const Emitted& condition) {
                          return condition.value->getType()->isVectorTy();
                        });
  const Emitted mask = conjunction(context_, conditions, !together);
  size_t depth = std::max({place.depth, variables.depth(address.form), mask.depth});
  if (!context_.shape[read].in_bounds || (tile_.branched && depth + 1 == context_.scopes.depth()))
    depth = context_.scopes.depth();
  if (contiguous) return load_contiguous(access, mask, depth, *stride == -1);
  if (address.data.empty())
    if (const auto pattern = variables.lane_pattern(address.form))
      if (const LaneWindows windows(*pattern); windows.worthwhile())
        return load_from_windows(access, windows, mask, depth);
  return load_apart(access, mask, depth);
}

// Lanes side by side in memory.
Emitted LoadEmitter::load_contiguous(const Access& access, const Emitted& mask, size_t depth,
                                     bool reversed) {
  llvm::IRBuilder<>& builder = context_.builder;
  const Address& address = access.address;
  const DType dtype = context_.pool().dtype(access.read);
  const int64_t lanes = context_.variables.lanes();
  auto* type = llvm::FixedVectorType::get(memory_type(builder, dtype), context_.variables.lanes());
  llvm::Type* element = type->getElementType();
  const Affine first = reversed ? address.form + Affine(1 - lanes) : address.form;
  const llvm::Align align = alignment_at(access.place, static_cast<int64_t>(size_of(dtype)),
                                         context_.variables.without_lanes(first), address.data);
  Value* pointer = context_.index.address(access.place.pointer, access.place.depth, element, first);
  for (const DataCoordinate& d : address.data) depth = std::max(depth, d.index.depth);
  return context_.scopes.emit(depth, [&] {
    pointer = moved_by_data(builder, pointer, element, address);
    pointer = near_tensor(pointer, first, access);
    Value* on = mask.value;
    const bool in_lanes = on && on->getType()->isVectorTy();
    if (in_lanes && reversed) on = builder.CreateVectorReverse(on);
    if (ahead_ && address.data.empty()) fetch_ahead(builder, type, pointer, first, *ahead_);
    Value* loaded = in_lanes
                        ? load_lanes(builder, context_.math.features(), type, pointer, align, on)
                    : on ? load_where(builder, type, pointer, align, on)
                         : builder.CreateAlignedLoad(type, pointer, align);
    if (reversed) loaded = builder.CreateVectorReverse(loaded);
    return from_memory(builder, context_.math, loaded, dtype);
  });
}

// The pointer of a masked load, or the tensor's start where conditions that all lanes share turn it
// off and it might lie far from the tensor: a load whose lanes are all off takes hundreds of cycles
// in a page that is not there.
Value* LoadEmitter::near_tensor(Value* pointer, const Affine& first, const Access& access) {
  const LoweredGraph& graph = context_.graph();
  const TensorId tensor = context_.pool().read_tensor(access.read);
  const int64_t page = 4096 / static_cast<int64_t>(size_of(graph.info(tensor).dtype));
  const auto range = context_.variables.range(first);
  if (context_.math.features().gpu) return pointer;  // a branch turns it off
  if (range.lo >= -page && range.hi < elements_with_gaps(graph, tensor) + page) return pointer;
  for (const Emitted& condition : access.conditions)
    if (!condition.value->getType()->isVectorTy() && !llvm::isa<llvm::Constant>(condition.value))
      pointer = context_.builder.CreateSelect(condition.value, pointer, access.place.pointer);
  return pointer;
}

// Whole vectors of memory, of which every lane takes one element.
Emitted LoadEmitter::load_from_windows(const Access& access, const LaneWindows& windows,
                                       const Emitted& mask, size_t depth) {
  llvm::IRBuilder<>& builder = context_.builder;
  const DType dtype = context_.pool().dtype(access.read);
  auto* type = llvm::FixedVectorType::get(memory_type(builder, dtype), context_.variables.lanes());
  std::vector<Value*> pointers;
  llvm::Align align(kMostAligned);
  for (const LaneWindows::Window& window : windows.windows()) {
    const Affine first =
        context_.variables.without_lanes(access.address.form) + Affine(window.start);
    pointers.push_back(context_.index.address(access.place.pointer, access.place.depth,
                                              type->getElementType(), first));
    align =
        std::min(align, alignment_at(access.place, static_cast<int64_t>(size_of(dtype)), first));
  }
  return context_.scopes.emit(depth, [&] {
    Value* loaded =
        load_windows(builder, context_.math.features(), type, pointers, align, windows, mask.value);
    return from_memory(builder, context_.math, loaded, dtype);
  });
}

// An element a lane.
Emitted LoadEmitter::load_apart(const Access& access, const Emitted& mask, size_t depth) {
  const auto& [read, place, address, conditions, lanes] = access;
  llvm::IRBuilder<>& builder = context_.builder;
  const TensorId tensor = context_.pool().read_tensor(read);
  const DType dtype = context_.pool().dtype(read);
  llvm::Type* element = memory_type(builder, dtype);
  if (context_.graph().info(tensor).element_count() == 0)
    return {llvm::Constant::getNullValue(llvm::FixedVectorType::get(register_type(builder, dtype),
                                                                    context_.variables.lanes())),
            0};
  // Without a mask, every lane's element is in the tensor, and what they share goes into the
  // pointer.
  const bool apart = !mask.value;
  const Affine shared = apart ? shared_offset(context_, tensor, address.form) : Affine();
  Value* pointer = context_.index.address(place.pointer, place.depth, element, shared);
  const Affine rest = address.form - shared;
  const bool forwards = lies_forwards(place) && (!apart || context_.variables.range(rest).lo >= 0);
  const Emitted offsets = lane_offsets(context_, tensor, {rest, address.data});
  depth = std::max(depth, offsets.depth);
  Value* on = mask.value ? context_.splats(mask) : nullptr;
  return context_.scopes.emit(depth, [&] {
    Value* loaded =
        gather(builder, context_.math.features(), element, pointer, offsets.value, on, forwards);
    return from_memory(builder, context_.math, loaded, dtype);
  });
}

}  // namespace adjit::emit
