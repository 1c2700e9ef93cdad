// jit/emit/loads/load_joined.cpp -- looking up where the parts of joins lie.
#include "jit/emit/loads/load_joined.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <string>

#include <llvm/IR/Module.h>

#include "jit/emit/addresses/address.hpp"
#include "jit/emit/addresses/conditions.hpp"
#include "jit/emit/ir/lane_memory.hpp"
#include "jit/emit/operations/memory_types.hpp"
#include "jit/emit/operations/operations.hpp"

namespace adjit::emit {
namespace {

using llvm::Value;

bool all_equal(const std::vector<int64_t>& numbers) {
  return std::ranges::adjacent_find(numbers, std::not_equal_to()) == numbers.end();
}

}  // namespace

// Numbers of a table, as a constant of the module: one for equal tables.
Value* JoinedLoads::constant_table(const std::vector<int64_t>& numbers) {
  Value*& table = tables_[numbers];
  if (!table) {
    llvm::Module* module = context_.builder.GetInsertBlock()->getModule();
    llvm::Constant* data = llvm::ConstantDataArray::get(
        context_.builder.getContext(),
        llvm::ArrayRef(reinterpret_cast<const uint64_t*>(numbers.data()), numbers.size()));
    const std::string name = "adjit_table_" + std::to_string(module->global_size());
    const unsigned space = address_space(context_.math.features());
    auto* global =
        new llvm::GlobalVariable(*module, data->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                 data, name, nullptr, llvm::GlobalValue::NotThreadLocal, space);
    global->setAlignment(llvm::Align(8));
    table = global;
  }
  return table;
}

// Elements of an array of 8-byte elements: of one part, or of every lane's.
Value* JoinedLoads::looked_up(llvm::Type* element, Value* array, Value* part) {
  llvm::IRBuilder<>& builder = context_.builder;
  const llvm::Align align(8);
  Value* address = builder.CreateInBoundsGEP(element, array, part);
  if (!part->getType()->isVectorTy()) return builder.CreateAlignedLoad(element, address, align);
  const unsigned lanes = context_.variables.lanes();
  auto* type = llvm::FixedVectorType::get(element, lanes);
  Value* all = llvm::ConstantInt::getTrue(llvm::FixedVectorType::get(builder.getInt1Ty(), lanes));
  return builder.CreateMaskedGather(type, address, align, all, llvm::Constant::getNullValue(type));
}

// A number per part: a constant where all are equal.
Value* JoinedLoads::of_part(const std::vector<int64_t>& numbers, Value* part) {
  llvm::Type* type = context_.builder.getInt64Ty();
  if (!all_equal(numbers)) return looked_up(type, constant_table(numbers), part);
  if (part->getType()->isVectorTy())
    type = llvm::FixedVectorType::get(type, context_.variables.lanes());
  return llvm::ConstantInt::getSigned(type, numbers[0]);
}

// The number of the part that a position is in, between the first and the last one also where the
// position is in none (lanes that are off).
Emitted JoinedLoads::part_number(const Join& join) {
  std::vector<int64_t> widths;
  for (size_t k = 0; k + 1 < join.begins.size(); ++k)
    widths.push_back(join.begins[k + 1] - join.begins[k]);
  const Affine position = placed(context_, join.position);
  return all_equal(widths) ? quotient(join, position, widths[0]) : last_begun(join, position);
}

// That of parts of one width.
Emitted JoinedLoads::quotient(const Join& join, const Affine& position, int64_t width) {
  llvm::IRBuilder<>& builder = context_.builder;
  const auto last = static_cast<int64_t>(join.reads.size()) - 1;
  const Affine part = context_.index.floor_div(position - Affine(join.begins[0]), width);
  const Emitted number = index_value(context_, part);
  const Interval range = context_.variables.range(part);
  if (range.lo >= 0 && range.hi <= last) return number;
  return context_.scopes.emit(number.depth, [&] {
    llvm::Type* type = number.value->getType();
    Value* low = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, number.value,
                                               llvm::Constant::getNullValue(type));
    return builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, low,
                                         llvm::ConstantInt::getSigned(type, last));
  });
}

// The last part that begins at or before the position, bit by bit of its number.
Emitted JoinedLoads::last_begun(const Join& join, const Affine& position) {
  llvm::IRBuilder<>& builder = context_.builder;
  std::vector<int64_t> begins = join.begins;
  begins.resize(std::bit_ceil(begins.size()), std::numeric_limits<int64_t>::max());
  const Emitted at = index_value(context_, position);
  return context_.scopes.emit(at.depth, [&] {
    llvm::Type* type = at.value->getType();
    Value* part = llvm::Constant::getNullValue(type);
    for (size_t step = begins.size() / 2; step > 0; step /= 2) {
      Value* next =
          builder.CreateAdd(part, llvm::ConstantInt::getSigned(type, static_cast<int64_t>(step)));
      Value* begin = looked_up(builder.getInt64Ty(), constant_table(begins), next);
      part = builder.CreateSelect(builder.CreateICmpSLE(begin, at.value), next, part);
    }
    return part;
  });
}

Emitted JoinedLoads::operator()(const Join& join, const Point& point) {
  llvm::IRBuilder<>& builder = context_.builder;
  const DType dtype = context_.pool().dtype(join.reads[0]);
  llvm::Type* element = memory_type(builder, dtype);
  const Parts parts = parts_of(join);
  const Emitted number = part_number(join);
  Emitted pointer = context_.scopes.emit(number.depth, [&] {
    Value* slot = of_part(parts.slots, number.value);
    llvm::Type* pointer =
        context_.places[context_.pool().read_tensor(join.reads[0])].pointer->getType();
    Value* start = looked_up(pointer, context_.places.table(), slot);
    return builder.CreateGEP(element, start, of_part(parts.constants, number.value));
  });
  // Variables that move the address alike in all parts are one form; the others' products are added
  // one by one, outside of the loops that they do not depend on.
  Affine shared;
  for (size_t v = 0; v < parts.coefficients.size(); ++v) {
    if (all_equal(parts.coefficients[v])) {
      shared.set_coefficient(v, parts.coefficients[v][0]);
    } else {
      pointer = moved_along(v, parts.coefficients[v], element, pointer, number);
    }
  }
  const Emitted loaded = load_at(pointer, shared, dtype, parts.written, point);
  if (dtype == join.dtype) return loaded;
  return context_.scopes.emit(loaded.depth, [&] {
    return emit_operation(builder, context_.math, Op::Cast, dtype, join.dtype, {loaded.value});
  });
}

// Where the parts' elements lie.
JoinedLoads::Parts JoinedLoads::parts_of(const Join& join) const {
  Parts parts;
  std::vector<Affine> addresses;  // in elements of the part's tensor
  size_t variables = 0;
  for (ExprId read : join.reads) {
    const TensorPlace& place = context_.places[context_.pool().read_tensor(read)];
    Affine address;
    for (size_t d = 0; d < place.strides.size(); ++d)
      address += placed(context_, context_.pool().read_index(read)[d]) * place.strides[d];
    parts.slots.push_back(static_cast<int64_t>(*place.slot));
    parts.written = std::max(parts.written, place.depth);
    parts.constants.push_back(address.constant());
    variables = std::max(variables, address.size());
    addresses.push_back(std::move(address));
  }
  for (size_t v = 0; v < variables; ++v) {
    std::vector<int64_t>& coefficients = parts.coefficients.emplace_back();
    for (const Affine& address : addresses) coefficients.push_back(address.coefficient(v));
  }
  return parts;
}

// The pointer, moved by the product of a variable with what it moves in a part.
Emitted JoinedLoads::moved_along(size_t variable, const std::vector<int64_t>& coefficients,
                                 llvm::Type* element, const Emitted& pointer, const Emitted& part) {
  llvm::IRBuilder<>& builder = context_.builder;
  const Emitted value = index_value(context_, Affine::variable(variable));
  return context_.scopes.emit(std::max(pointer.depth, value.depth), [&] {
    Value* scale = of_part(coefficients, part.value);
    Value* number = value.value;
    const bool wide = number->getType()->isVectorTy();
    if (wide != scale->getType()->isVectorTy())
      (wide ? scale : number) =
          builder.CreateVectorSplat(context_.variables.lanes(), wide ? scale : number);
    return builder.CreateGEP(element, pointer.value, builder.CreateMul(scale, number));
  });
}

// An element at a pointer plus a form, in each lane where either differs between lanes, of what is
// written in the scope `written` or outside of it.
Emitted JoinedLoads::load_at(const Emitted& pointer, const Affine& form, DType dtype,
                             size_t written, const Point& point) {
  llvm::IRBuilder<>& builder = context_.builder;
  IndexEmitter& index = context_.index;
  const KernelVariables& variables = context_.variables;
  llvm::Type* element = memory_type(builder, dtype);
  const llvm::Align align(size_of(dtype));
  const bool apart = pointer.value->getType()->isVectorTy();
  const size_t depth = std::max({written, pointer.depth, variables.depth(form)});
  const auto loaded = [&](Value* memory) {
    return from_memory(builder, context_.math, memory, dtype);
  };
  if (!apart && !variables.in_lanes(form)) {
    Value* address = index.address(pointer.value, pointer.depth, element, form);
    return context_.scopes.emit(
        depth, [&] { return loaded(builder.CreateAlignedLoad(element, address, align)); });
  }
  auto* type = llvm::FixedVectorType::get(element, variables.lanes());
  const Emitted mask = conjunction(
      context_, point.active.value ? std::vector{point.active} : std::vector<Emitted>{}, true);
  const size_t inner = std::max(depth, mask.depth);
  if (!apart && variables.lane_stride(form) == 1) {
    Value* address = index.address(pointer.value, pointer.depth, element, form);
    return context_.scopes.emit(inner, [&] {
      return loaded(mask.value ? load_lanes(builder, context_.math.features(), type, address, align,
                                            mask.value)
                               : builder.CreateAlignedLoad(type, address, align));
    });
  }
  Value* offsets = variables.in_lanes(form) ? index.vector(form, 64) : index.scalar(form);
  return context_.scopes.emit(inner, [&] {
    Value* address = builder.CreateGEP(element, pointer.value, offsets);
    return loaded(builder.CreateMaskedGather(type, address, align, mask.value,
                                             llvm::Constant::getNullValue(type)));
  });
}

}  // namespace adjit::emit
