// jit/emit/load.cpp -- reads as loads: uniform, contiguous lanes, reversed lanes, gathers; under
// masks.
#include <algorithm>

#include <llvm/IR/Module.h>

#include "jit/emit/body.hpp"
#include "jit/emit/lane_memory.hpp"
#include "jit/emit/memory_types.hpp"

namespace adjit::emit {

using llvm::Value;

Emitted BodyEmitter::read(ExprId id, const Point& point) {
  const TensorId tensor = pool_.read_tensor(id);
  const TensorPlace& place = places_[tensor];
  Address address;
  address.safe = shape_[id].in_bounds;
  const std::span<const ExprId> index = pool_.read_index(id);
  for (size_t d = 0; d < index.size(); ++d) {
    const int64_t stride = place.strides[d];
    if (!place.origin.empty()) address.form -= index_.resolve(place.origin[d]) * stride;
    if (const std::optional<Affine>& form = affine(index[d])) {
      address.form += this->place(*form) * stride;
    } else {
      address.data.emplace_back(coordinate(index[d], point), stride);
    }
  }
  bool lanes = index_.in_lanes(address.form);
  for (const auto& [value, stride] : address.data) lanes |= value.value->getType()->isVectorTy();

  std::vector<Emitted> conditions;
  // Lanes past the end of a row are read and not used where there is room behind it.
  const bool tail = point.active.value && llvm::isa<llvm::Constant>(point.active.value);
  const bool beyond = tail && lanes && index_.lane_stride(address.form) == 1 &&
                      ((place.readable_beyond && address.data.empty()) ||
                       (!differs_by_data(address) && has_room_in_row(id, place)));
  if (point.active.value && !beyond && (lanes || !address.safe)) conditions.push_back(point.active);
  if (const ExprId predicate = pool_.read_predicate(id); predicate.valid())
    conditions.push_back(*find(predicate, point));
  if (lanes && !pool_.read_predicate(id).valid() &&
      (differs_by_data(address) || !reads_whole_vectors(address)))
    if (const std::optional<Emitted> part = load_transposed(id, point, address, place))
      return *part;
  if (!address.data.empty() || pool_.read_predicate(id).valid())
    return load(id, address, conditions, lanes);
  // Other copies, or other reads, load the same element: x(k + r) of k, r = 0, 1 and 1, 0.
  const Key key{tensor.value, static_cast<uint64_t>(address.form.constant()),
                conditions.empty() ? nullptr : point.active.value};
  if (const auto found = loaded_.find(key); found != loaded_.end())
    if (const auto& [form, memo] = found->second;
        form == address.form && scopes_.alive(memo.emitted.depth, memo.serial))
      return memo.emitted;
  const Emitted loaded = load(id, address, conditions, lanes);
  loaded_[key] = {address.form, {loaded, scopes_.serial(loaded.depth)}};
  return loaded;
}

// Whether all lanes read elements of one row of a tensor, also those of no points.
bool BodyEmitter::has_room_in_row(ExprId read, const TensorPlace& place) {
  const std::span<const ExprId> index = pool_.read_index(read);
  if (index.empty() || !place.origin.empty() || place.strides.back() != 1) return false;
  const std::optional<Affine>& form = affine(index.back());
  if (!form || index_.lane_stride(this->place(*form)) != 1) return false;
  const Interval range = index_.range(this->place(*form));
  return range.lo >= 0 && range.hi < graph_.info(pool_.read_tensor(read)).shape.back();
}

Emitted BodyEmitter::load(ExprId id, const Address& address, const std::vector<Emitted>& conditions,
                          bool lanes) {
  const TensorId tensor = pool_.read_tensor(id);
  const DType dtype = pool_.dtype(id);
  return lanes ? load_lanes(address, tensor, dtype, conditions)
               : load_uniform(address, places_[tensor], dtype, conditions);
}

std::optional<Affine> BodyEmitter::plain_address(ExprId read) {
  if (pool_.read_predicate(read).valid()) return std::nullopt;
  const TensorPlace& place = places_[pool_.read_tensor(read)];
  const std::span<const ExprId> index = pool_.read_index(read);
  Affine form;
  for (size_t d = 0; d < index.size(); ++d) {
    if (!affine(index[d])) return std::nullopt;
    form += this->place(*affine(index[d])) * place.strides[d];
    if (!place.origin.empty()) form -= index_.resolve(place.origin[d]) * place.strides[d];
  }
  return form;
}

Emitted BodyEmitter::bfloat16_pair(ExprId read, const Point& point) {
  const Key key = this->key(read, point);
  if (const auto found = pairs_.find(key); found != pairs_.end())
    if (const Memo& memo = found->second; scopes_.alive(memo.emitted.depth, memo.serial))
      return memo.emitted;
  const TensorPlace& place = places_[pool_.read_tensor(read)];
  const Affine form = *plain_address(read);
  const bool lanes = index_.in_lanes(form);
  const Emitted mask = lanes ? point.active : Emitted{};
  const size_t depth = shape_[read].in_bounds
                           ? std::max({place.depth, index_.depth(form), mask.depth})
                           : scopes_.depth();
  Value* pointer = index_.address(place.pointer, place.depth, builder_.getInt16Ty(), form);
  Value* loaded = scopes_.at(depth, [&]() -> Value* {
    llvm::Type* type = builder_.getInt32Ty();
    const llvm::Align align(2);
    if (!lanes) return builder_.CreateAlignedLoad(type, pointer, align);
    type = llvm::FixedVectorType::get(type, index_.lanes());
    if (!mask.value) return builder_.CreateAlignedLoad(type, pointer, align);
    return builder_.CreateMaskedLoad(type, pointer, align, splat(mask),
                                     llvm::Constant::getNullValue(type));
  });
  pairs_[key] = {{loaded, depth}, scopes_.serial(depth)};
  return {loaded, depth};
}

// All conditions as one value: <lanes x i1> or, when not in lanes, i1 (true when any lane is).
Emitted BodyEmitter::conjunction(const std::vector<Emitted>& conditions, bool in_lanes) {
  Emitted all;
  for (const Emitted& condition : conditions) {
    const size_t depth = std::max(all.depth, condition.depth);
    Value* value = condition.value;
    const bool vector = value->getType()->isVectorTy();
    if (auto* known = llvm::dyn_cast<llvm::Constant>(value); known && known->isAllOnesValue())
      continue;  // holds in this tile
    if (in_lanes) {
      value = splat(condition);
    } else if (auto* mask = llvm::dyn_cast<llvm::Constant>(value); mask && vector) {
      if (!mask->isNullValue()) continue;  // a tail, or rows of one copy, with live lanes
      value = builder_.getFalse();
    } else if (vector) {
      value = scopes_.at(condition.depth, [&] { return builder_.CreateOrReduce(value); });
    }
    if (all.value) {
      Value* left = all.value;
      value = scopes_.at(depth, [&] { return builder_.CreateAnd(left, value); });
    }
    all = {value, depth};
  }
  return all;
}

Emitted BodyEmitter::load_uniform(const Address& address, const TensorPlace& place, DType dtype,
                                  const std::vector<Emitted>& conditions) {
  llvm::Type* type = memory_type(builder_, dtype);
  const llvm::Align align(size_of(dtype));
  size_t depth = std::max(place.depth, index_.depth(address.form));
  for (const auto& [value, stride] : address.data) depth = std::max(depth, value.depth);
  // What is in bounds only under a loop's bounds or a guard stays inside it.
  if (!address.safe) depth = scopes_.depth();
  const Emitted condition = conjunction(conditions, false);
  depth = std::max(depth, condition.depth);
  Value* pointer = index_.address(place.pointer, place.depth, type, address.form);
  Value* loaded = scopes_.at(depth, [&] {
    pointer = moved_by_data(pointer, type, address);
    if (condition.value) {
      // Branch-free: where the condition fails the load goes to a zero of our own.
      llvm::Module* module = builder_.GetInsertBlock()->getModule();
      llvm::Type* zero_type = llvm::ArrayType::get(builder_.getInt8Ty(), 16);
      auto* zero =
          llvm::cast<llvm::GlobalVariable>(module->getOrInsertGlobal("adjit_zero", zero_type));
      if (!zero->hasInitializer()) {
        zero->setInitializer(llvm::Constant::getNullValue(zero_type));
        zero->setConstant(true);
        zero->setLinkage(llvm::GlobalValue::InternalLinkage);
        zero->setAlignment(llvm::Align(16));
      }
      pointer = builder_.CreateSelect(condition.value, pointer, zero);
    }
    return from_memory(builder_, math_, builder_.CreateAlignedLoad(type, pointer, align), dtype);
  });
  // A predicate that differs between lanes selects lane by lane.
  Emitted result{loaded, depth};
  for (const Emitted& c : conditions) {
    if (!c.value->getType()->isVectorTy()) continue;
    Value* wide = splat(result);
    result.depth = std::max(result.depth, c.depth);
    result.value = scopes_.at(result.depth, [&] {
      return builder_.CreateSelect(c.value, wide, llvm::Constant::getNullValue(wide->getType()));
    });
  }
  return result;
}

// Whether data decides where each lane's element is.
bool BodyEmitter::differs_by_data(const Address& address) {
  return std::ranges::any_of(address.data,
                             [](const auto& d) { return d.first.value->getType()->isVectorTy(); });
}

// A pointer moved by the coordinates that data decides, equal in all lanes.
Value* BodyEmitter::moved_by_data(Value* pointer, llvm::Type* element, const Address& address) {
  for (const auto& [value, stride] : address.data)
    pointer = builder_.CreateInBoundsGEP(
        element, pointer,
        builder_.CreateMul(value.value, builder_.getInt64(static_cast<uint64_t>(stride))));
  return pointer;
}

// Whether the lanes' elements are next to each other, or so near that few vectors hold them.
bool BodyEmitter::reads_whole_vectors(const Address& address) const {
  const std::optional<int64_t> stride = index_.lane_stride(address.form);
  if (stride && (*stride == 1 || *stride == -1)) return true;
  const auto pattern = index_.lane_pattern(address.form);
  return pattern && LaneWindows(*pattern).worthwhile();
}

// The pointer of a masked load, or the tensor's start where conditions that all lanes share turn it
// off and it might lie far from the tensor: a load whose lanes are all off takes hundreds of cycles
// in a page that is not there.
Value* BodyEmitter::near_tensor(Value* pointer, TensorId tensor, const Affine& first,
                                const std::vector<Emitted>& conditions) {
  const int64_t page = 4096 / static_cast<int64_t>(size_of(graph_.info(tensor).dtype));
  const auto range = index_.range(first);
  if (range.lo >= -page && range.hi < elements_with_gaps(graph_.info(tensor)) + page)
    return pointer;
  for (const Emitted& condition : conditions)
    if (!condition.value->getType()->isVectorTy() && !llvm::isa<llvm::Constant>(condition.value))
      pointer = builder_.CreateSelect(condition.value, pointer, places_[tensor].pointer);
  return pointer;
}

// Whole vectors of memory, of which every lane takes one element.
Value* BodyEmitter::load_windows(const Address& address, const TensorPlace& place,
                                 llvm::Type* element, const LaneWindows& windows,
                                 const Emitted& mask, size_t depth, DType dtype) {
  const unsigned lanes = index_.lanes();
  auto* type = llvm::FixedVectorType::get(element, lanes);
  std::vector<Value*> pointers;
  for (const LaneWindows::Window& window : windows.windows())
    pointers.push_back(index_.address(place.pointer, place.depth, element,
                                      index_.without_lanes(address.form) + Affine(window.start)));
  return scopes_.at(depth, [&] {
    Value* zero = llvm::Constant::getNullValue(type);
    Value* result = nullptr;
    llvm::SmallVector<int, 64> held(lanes, -1);  // lane by lane: where the result has it
    for (size_t w = 0; w < pointers.size(); ++w) {
      const LaneWindows::Window& window = windows.windows()[w];
      Value* loaded = emit::load_lanes(builder_, math_.features(), type, pointers[w],
                                       llvm::Align(size_of(dtype)), window_mask(window, mask));
      // The first window's lanes get their places together with the second one's.
      const int base = result ? static_cast<int>(lanes) : 0;
      for (unsigned lane = 0; lane < lanes; ++lane)
        if (window.element[lane] >= 0) held[lane] = base + window.element[lane];
      if (!result && w + 1 < pointers.size()) {
        result = loaded;
        continue;
      }
      result = result ? builder_.CreateShuffleVector(result, loaded, held)
                      : builder_.CreateShuffleVector(loaded, held);
      for (unsigned lane = 0; lane < lanes; ++lane)
        if (held[lane] >= 0) held[lane] = static_cast<int>(lane);
    }
    invariant(result != nullptr, "lanes take their elements of no vector");
    if (mask.value && windows.shared()) result = builder_.CreateSelect(mask.value, result, zero);
    return from_memory(builder_, math_, result, dtype);
  });
}

// Elements of a window that some live lane wants.
Value* BodyEmitter::window_mask(const LaneWindows::Window& window, const Emitted& mask) {
  const unsigned lanes = index_.lanes();
  auto* type = llvm::FixedVectorType::get(builder_.getInt1Ty(), lanes);
  if (!mask.value) {
    llvm::SmallVector<llvm::Constant*, 64> wanted(lanes, builder_.getFalse());
    for (int k = 0; k < window.length; ++k) wanted[static_cast<size_t>(k)] = builder_.getTrue();
    return llvm::ConstantVector::get(wanted);
  }
  Value* none = llvm::Constant::getNullValue(type);
  Value* all = nullptr;
  std::vector<bool> left(lanes, true);
  while (std::ranges::find(left, true) != left.end()) {  // once for each lane that wants the same
    llvm::SmallVector<int, 64> from(lanes, static_cast<int>(lanes));
    for (unsigned lane = 0; lane < lanes; ++lane) {
      const int element = window.element[lane];
      if (element >= 0 && left[lane] &&
          from[static_cast<size_t>(element)] < static_cast<int>(lanes))
        continue;
      if (element >= 0 && left[lane]) from[static_cast<size_t>(element)] = static_cast<int>(lane);
      left[lane] = false;
    }
    Value* part = builder_.CreateShuffleVector(mask.value, none, from);
    all = all ? builder_.CreateOr(all, part) : part;
  }
  return all;
}

// Fetches what the next iteration of the loop around reads here, once a line; where iterations are
// neighbours, a later one.
void BodyEmitter::fetch_next(const Address& address, const Affine& first, Value* pointer,
                             llvm::Type* element) {
  constexpr int64_t kLine = 64;
  constexpr int64_t kFirstCache = 8192;  // bytes to the next row that leave it room for others
  constexpr int64_t kDistance = 384;     // at least, where the next iteration comes too soon
  constexpr uint32_t kRead = 0, kFirst = 3, kSecond = 2, kData = 1;
  if (!ahead_ || !address.data.empty()) return;
  int64_t moves = first.coefficient(*ahead_);
  const int64_t size = element->getPrimitiveSizeInBits() / 8, bytes = size * index_.lanes();
  while (moves != 0 && std::abs(moves) * size < kDistance) moves *= 2;
  if (moves == 0 || (bytes < kLine && floor_mod(first.constant() * size, kLine) >= bytes)) return;
  Value* next =
      builder_.CreateGEP(element, pointer, builder_.getInt64(static_cast<uint64_t>(moves)));
  builder_.CreateIntrinsic(
      llvm::Intrinsic::prefetch, {next->getType()},
      {next, builder_.getInt32(kRead),
       builder_.getInt32(std::abs(moves) * size <= kFirstCache ? kFirst : kSecond),
       builder_.getInt32(kData)});
}

Emitted BodyEmitter::load_lanes(const Address& address, TensorId tensor, DType dtype,
                                const std::vector<Emitted>& conditions) {
  const TensorPlace& place = places_[tensor];
  llvm::Type* element = memory_type(builder_, dtype);
  auto* type = llvm::FixedVectorType::get(element, index_.lanes());
  const llvm::Align align(size_of(dtype));
  const Emitted mask = conjunction(conditions, true);
  size_t depth = std::max({place.depth, index_.depth(address.form), mask.depth});
  if (!address.safe || (branched_ && depth + 1 == scopes_.depth())) depth = scopes_.depth();
  Value* zero = llvm::Constant::getNullValue(type);
  const bool by_data = differs_by_data(address);
  const std::optional<int64_t> stride = by_data ? std::nullopt : index_.lane_stride(address.form);

  if (stride && (*stride == 1 || *stride == -1)) {
    const bool reversed = *stride == -1;
    const Affine first =
        reversed ? address.form + Affine(1 - int64_t{index_.lanes()}) : address.form;
    Value* pointer = index_.address(place.pointer, place.depth, element, first);
    for (const auto& [value, by] : address.data) depth = std::max(depth, value.depth);
    return {scopes_.at(depth,
                       [&] {
                         pointer = moved_by_data(pointer, element, address);
                         pointer = near_tensor(pointer, tensor, first, conditions);
                         Value* lanes_mask = mask.value;
                         if (lanes_mask && reversed)
                           lanes_mask = builder_.CreateVectorReverse(lanes_mask);
                         fetch_next(address, first, pointer, element);
                         Value* loaded = lanes_mask
                                             ? emit::load_lanes(builder_, math_.features(), type,
                                                                pointer, align, lanes_mask)
                                             : builder_.CreateAlignedLoad(type, pointer, align);
                         if (reversed) loaded = builder_.CreateVectorReverse(loaded);
                         return from_memory(builder_, math_, loaded, dtype);
                       }),
            depth};
  }
  if (address.data.empty())
    if (const auto pattern = index_.lane_pattern(address.form))
      if (const LaneWindows windows(*pattern); windows.worthwhile())
        return {load_windows(address, place, element, windows, mask, depth, dtype), depth};
  if (graph_.info(tensor).element_count() == 0)
    return {llvm::Constant::getNullValue(from_memory(builder_, math_, zero, dtype)->getType()), 0};
  // Without a mask, every lane's element is in the tensor, and what they share goes into the
  // pointer.
  const bool apart = !mask.value;
  const Affine shared = apart ? shared_offset(tensor, address.form) : Affine();
  Value* pointer = index_.address(place.pointer, place.depth, element, shared);
  const Affine rest = address.form - shared;
  const bool forwards = lies_forwards(tensor) && (!apart || index_.range(rest).lo >= 0);
  const Emitted lanes = lane_offsets(tensor, rest, address.data);
  depth = std::max(depth, lanes.depth);
  Value* all = mask.value ? splat(mask) : nullptr;
  return {scopes_.at(depth,
                     [&] {
                       return from_memory(builder_, math_,
                                          gather(element, pointer, lanes.value, all, forwards),
                                          dtype);
                     }),
          depth};
}

}  // namespace adjit::emit
