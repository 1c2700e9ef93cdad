// jit/emit/load_joined.cpp -- a point of a join as one load, from the tensor that its position
// names.
//
// Part k's element lies at pointer[k] + sum over variables of coefficient[k][variable] * variable
// + constant[k]. What differs between parts is looked up by the part's number, which is computed
// where the position is known: outside of inner loops over other axes.
#include <algorithm>
#include <bit>

#include <llvm/IR/Module.h>

#include "jit/emit/body.hpp"
#include "jit/emit/lane_memory.hpp"
#include "jit/emit/memory_types.hpp"
#include "jit/emit/operations.hpp"

namespace adjit::emit {

using llvm::Value;

// Numbers of a table, as a constant of the module: one for equal tables.
Value* BodyEmitter::constant_table(const std::vector<int64_t>& numbers) {
  Value*& table = tables_[numbers];
  if (!table) {
    llvm::Module* module = builder_.GetInsertBlock()->getModule();
    llvm::Constant* data = llvm::ConstantDataArray::get(
        builder_.getContext(),
        llvm::ArrayRef(reinterpret_cast<const uint64_t*>(numbers.data()), numbers.size()));
    const std::string name = "adjit_table_" + std::to_string(module->global_size());
    auto* global =
        llvm::cast<llvm::GlobalVariable>(module->getOrInsertGlobal(name, data->getType()));
    global->setInitializer(data);
    global->setConstant(true);
    global->setLinkage(llvm::GlobalValue::PrivateLinkage);
    global->setAlignment(llvm::Align(8));
    table = global;
  }
  return table;
}

// Elements of an array of 8-byte elements: of one part, or of every lane's.
Value* BodyEmitter::looked_up(llvm::Type* element, Value* array, Value* part) {
  Value* address = builder_.CreateInBoundsGEP(element, array, part);
  if (!part->getType()->isVectorTy())
    return builder_.CreateAlignedLoad(element, address, llvm::Align(8));
  auto* type = llvm::FixedVectorType::get(element, index_.lanes());
  return builder_.CreateMaskedGather(
      type, address, llvm::Align(8),
      llvm::ConstantInt::getTrue(llvm::FixedVectorType::get(builder_.getInt1Ty(), index_.lanes())),
      llvm::Constant::getNullValue(type));
}

// A number per part: a constant where all are equal.
Value* BodyEmitter::of_part(const std::vector<int64_t>& numbers, Value* part) {
  if (std::ranges::adjacent_find(numbers, std::not_equal_to()) != numbers.end())
    return looked_up(builder_.getInt64Ty(), constant_table(numbers), part);
  llvm::Type* type = builder_.getInt64Ty();
  if (part->getType()->isVectorTy()) type = llvm::FixedVectorType::get(type, index_.lanes());
  return llvm::ConstantInt::getSigned(type, numbers[0]);
}

// The number of the part that a position is in, between the first and the last one also where the
// position is in none (lanes that are off).
Emitted BodyEmitter::part_number(const Join& join) {
  const auto last = static_cast<int64_t>(join.reads.size()) - 1;
  const Affine position = place(join.position);
  std::vector<int64_t> widths;
  for (size_t k = 0; k + 1 < join.begins.size(); ++k)
    widths.push_back(join.begins[k + 1] - join.begins[k]);
  if (std::ranges::adjacent_find(widths, std::not_equal_to()) == widths.end()) {
    const Affine part = index_.floor_div(position - Affine(join.begins[0]), widths[0]);
    const Emitted number = index_value(part);
    const Interval range = index_.range(part);
    if (range.lo >= 0 && range.hi <= last) return number;
    return {scopes_.at(number.depth,
                       [&] {
                         llvm::Type* type = number.value->getType();
                         Value* low =
                             builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, number.value,
                                                            llvm::Constant::getNullValue(type));
                         return builder_.CreateBinaryIntrinsic(
                             llvm::Intrinsic::smin, low, llvm::ConstantInt::getSigned(type, last));
                       }),
            number.depth};
  }
  // The last part that begins at or before the position, bit by bit of its number.
  std::vector<int64_t> begins = join.begins;
  begins.resize(std::bit_ceil(begins.size()), std::numeric_limits<int64_t>::max());
  const Emitted at = index_value(position);
  return {scopes_.at(
              at.depth,
              [&] {
                llvm::Type* type = at.value->getType();
                Value* part = llvm::Constant::getNullValue(type);
                for (size_t step = begins.size() / 2; step > 0; step /= 2) {
                  Value* next = builder_.CreateAdd(
                      part, llvm::ConstantInt::getSigned(type, static_cast<int64_t>(step)));
                  Value* begin = looked_up(builder_.getInt64Ty(), constant_table(begins), next);
                  part = builder_.CreateSelect(builder_.CreateICmpSLE(begin, at.value), next, part);
                }
                return part;
              }),
          at.depth};
}

// Where part k's element lies, in elements of its tensor.
std::vector<Affine> BodyEmitter::part_addresses(const Join& join) {
  std::vector<Affine> addresses;
  for (ExprId read : join.reads) {
    const TensorPlace& at = places_[pool_.read_tensor(read)];
    Affine address;
    for (size_t d = 0; d < at.strides.size(); ++d)
      address += place(*affine(pool_.read_index(read)[d])) * at.strides[d];
    addresses.push_back(std::move(address));
  }
  return addresses;
}

Emitted BodyEmitter::load_joined(const Join& join, const Point& point) {
  const DType dtype = pool_.dtype(join.reads[0]);
  llvm::Type* element = memory_type(builder_, dtype);
  const std::vector<Affine> addresses = part_addresses(join);
  std::vector<int64_t> slots, constants;
  size_t variables = 0, written = 0;  // scope from which on all parts may be read
  for (size_t k = 0; k < addresses.size(); ++k) {
    const TensorPlace& place = places_[pool_.read_tensor(join.reads[k])];
    slots.push_back(static_cast<int64_t>(*place.slot));
    written = std::max(written, place.depth);
    constants.push_back(addresses[k].constant());
    variables = std::max(variables, addresses[k].size());
  }
  const Emitted part = part_number(join);
  Emitted pointer{
      scopes_.at(part.depth,
                 [&] {
                   Value* slot = of_part(slots, part.value);
                   Value* start = looked_up(builder_.getPtrTy(), places_.pointers(), slot);
                   return builder_.CreateGEP(element, start, of_part(constants, part.value));
                 }),
      part.depth};
  // Variables that move the address alike in all parts are one form; the others' products are added
  // one by one, outside of the loops that they do not depend on.
  Affine shared;
  for (size_t v = 0; v < variables; ++v) {
    std::vector<int64_t> coefficients;
    for (const Affine& address : addresses) coefficients.push_back(address.coefficient(v));
    if (std::ranges::adjacent_find(coefficients, std::not_equal_to()) == coefficients.end()) {
      shared.set_coefficient(v, coefficients[0]);
      continue;
    }
    const Emitted value = index_value(Affine::variable(v));
    const size_t depth = std::max(pointer.depth, value.depth);
    const Value* before = pointer.value;
    pointer = {scopes_.at(depth,
                          [&] {
                            Value* scale = of_part(coefficients, part.value);
                            Value* number = value.value;
                            const bool wide = number->getType()->isVectorTy();
                            if (wide != scale->getType()->isVectorTy())
                              (wide ? scale : number) =
                                  builder_.CreateVectorSplat(index_.lanes(), wide ? scale : number);
                            return builder_.CreateGEP(element, const_cast<Value*>(before),
                                                      builder_.CreateMul(scale, number));
                          }),
               depth};
  }
  const Emitted loaded = load_at(pointer, shared, dtype, written, point);
  if (dtype == join.dtype) return loaded;
  return {scopes_.at(loaded.depth,
                     [&] {
                       return emit_operation(builder_, math_, Op::Cast, dtype, join.dtype,
                                             {loaded.value});
                     }),
          loaded.depth};
}

// An element at a pointer plus a form, in each lane where either differs between lanes, of what is
// written in the scope `written` or outside of it.
Emitted BodyEmitter::load_at(const Emitted& pointer, const Affine& form, DType dtype,
                             size_t written, const Point& point) {
  llvm::Type* element = memory_type(builder_, dtype);
  const llvm::Align align(size_of(dtype));
  const bool apart = pointer.value->getType()->isVectorTy();
  const size_t depth = std::max({written, pointer.depth, index_.depth(form)});
  if (!apart && !index_.in_lanes(form)) {
    Value* address = index_.address(pointer.value, pointer.depth, element, form);
    return {scopes_.at(depth,
                       [&] {
                         return from_memory(builder_, math_,
                                            builder_.CreateAlignedLoad(element, address, align),
                                            dtype);
                       }),
            depth};
  }
  auto* type = llvm::FixedVectorType::get(element, index_.lanes());
  const Emitted mask =
      conjunction(point.active.value ? std::vector{point.active} : std::vector<Emitted>{}, true);
  const size_t inner = std::max(depth, mask.depth);
  if (!apart && index_.lane_stride(form) == 1) {
    Value* address = index_.address(pointer.value, pointer.depth, element, form);
    return {scopes_.at(inner,
                       [&] {
                         Value* loaded = mask.value
                                             ? emit::load_lanes(builder_, math_.features(), type,
                                                                address, align, mask.value)
                                             : builder_.CreateAlignedLoad(type, address, align);
                         return from_memory(builder_, math_, loaded, dtype);
                       }),
            inner};
  }
  Value* offsets = index_.in_lanes(form) ? index_.vector(form, 64) : index_.scalar(form);
  return {scopes_.at(inner,
                     [&] {
                       Value* address = builder_.CreateGEP(element, pointer.value, offsets);
                       return from_memory(
                           builder_, math_,
                           builder_.CreateMaskedGather(type, address, align, mask.value,
                                                       llvm::Constant::getNullValue(type)),
                           dtype);
                     }),
          inner};
}

}  // namespace adjit::emit
