// jit/emit/addresses/lane_addresses.hpp -- addresses that differ between lanes, and gathers.
#pragma once

#include <vector>

#include "jit/emit/addresses/address.hpp"
#include "jit/emit/addresses/body_context.hpp"
#include "jit/emit/ir/target.hpp"
#include "jit/emit/scopes/emitted.hpp"
#include "jit/emit/shape/places.hpp"

namespace adjit::emit {

/// What all lanes have in common of a form, where a pointer to it stays inside the tensor: the
/// offsets from there to elements of the tensor are then no longer than the tensor. Zero elsewhere.
Affine shared_offset(const BodyContext& context, TensorId tensor, const Affine& form);

/// Whether no element lies before the tensor's first.
bool lies_forwards(const TensorPlace& place);

/// Element offsets of an address, from where its form is 0: <lanes x i32> for a tensor of so few
/// elements, else <lanes x i64>.
Emitted lane_offsets(const BodyContext& context, TensorId tensor, const Address& address);

/// Where lanes find their elements, and the scope from which on they do.
struct LaneRows {
  std::vector<llvm::Value*> pointers;
  size_t depth;
};
/// Those of the first `live` lanes.
LaneRows rows_of_lanes(const BodyContext& context, TensorId tensor, const Address& address,
                       unsigned live);

/// Elements at offsets from a pointer, zeros where the mask (null: none) does not hold; element 0
/// must be there. `forwards`: no offset is negative. Before AVX-512, gathers are slow or taken
/// apart into branches: one load a lane instead. A GPU branches around lanes that are off.
llvm::Value* gather(llvm::IRBuilder<>& builder, const TargetFeatures& features, llvm::Type* element,
                    llvm::Value* pointer, llvm::Value* offsets, llvm::Value* mask, bool forwards);

}  // namespace adjit::emit
