// jit/emit/loads/bfloat16_loads.cpp -- pairs of bfloat16 that lie side by side.
#include "jit/emit/loads/bfloat16_loads.hpp"

#include <algorithm>

#include "jit/emit/addresses/address.hpp"

namespace adjit::emit {

using llvm::Value;

Emitted BFloat16Loads::operator()(ExprId read, const Point& point) {
  if (const Emitted* known = pairs_.find(read, point)) return *known;
  llvm::IRBuilder<>& builder = context_.builder;
  const TensorPlace& place = context_.places[context_.pool().read_tensor(read)];
  const Affine form = *plain_address(context_, read);
  const bool lanes = context_.variables.in_lanes(form);
  const Emitted mask = lanes ? point.active : Emitted{};
  const size_t depth = context_.shape[read].in_bounds
                           ? std::max({place.depth, context_.variables.depth(form), mask.depth})
                           : context_.scopes.depth();
  Value* pointer = context_.index.address(place.pointer, place.depth, builder.getInt16Ty(), form);
  Value* on = mask.value ? context_.splats(mask) : nullptr;
  return pairs_.remember(read, point, context_.scopes.emit(depth, [&]() -> Value* {
    llvm::Type* type = builder.getInt32Ty();
    const llvm::Align align(2);
    if (!lanes) return builder.CreateAlignedLoad(type, pointer, align);
    type = llvm::FixedVectorType::get(type, context_.variables.lanes());
    if (!on) return builder.CreateAlignedLoad(type, pointer, align);
    return builder.CreateMaskedLoad(type, pointer, align, on, llvm::Constant::getNullValue(type));
  }));
}

}  // namespace adjit::emit
