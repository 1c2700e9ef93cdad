// jit/emit/addresses/address.hpp -- where a stage's reads and writes find their elements.
#pragma once

#include <optional>
#include <vector>

#include "jit/emit/addresses/body_context.hpp"
#include "jit/emit/scopes/emitted.hpp"

namespace adjit::emit {

/// A coordinate that data decides.
struct DataCoordinate {
  Emitted index;
  int64_t stride;  // in elements
};

struct Address {
  Affine form;                       // resolved, in elements: what the loops decide
  std::vector<DataCoordinate> data;  // what is added to it
};

/// A form over the stage's axes and its domain's divisions, over the kernel's variables: resolved,
/// at the point that these name.
Affine placed(const BodyContext& context, const Affine& domain_form);
/// That of an index which has a form.
Affine placed(const BodyContext& context, ExprId index);

/// Where a read lies at the point that the kernel's variables name, in elements from its tensor's
/// start; nothing where that depends on data or a predicate.
std::optional<Affine> plain_address(const BodyContext& context, ExprId read);

/// Bytes of a GPU's largest access: more of an alignment is of no use.
inline constexpr int64_t kMostAligned = 16;

/// What is known to divide the addresses of a buffer's elements at a resolved form, in each of its
/// lanes (KernelVariables::without_lanes(): in the first one), plus coordinates that data decides:
/// an element's size, and more, up to kMostAligned, where the buffer's own alignment is known.
llvm::Align alignment_at(const TensorPlace& place, int64_t element_bytes, const Affine& form,
                         const std::vector<DataCoordinate>& data = {});

/// A resolved form as a value, i64 in lanes where it differs between them.
Emitted index_value(const Emission& emission, const Affine& form);

/// Whether data decides where each lane's element is.
bool differs_by_data(const Address& address);
/// A pointer moved by the coordinates that data decides, as far as they are equal in all lanes.
llvm::Value* moved_by_data(llvm::IRBuilder<>& builder, llvm::Value* pointer, llvm::Type* element,
                           const Address& address);

}  // namespace adjit::emit
