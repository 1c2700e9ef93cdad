// jit/emit/addresses/address.cpp -- where a stage's reads and writes find their elements.
#include "jit/emit/addresses/address.hpp"

#include <algorithm>
#include <numeric>
#include <span>

namespace adjit::emit {

using llvm::Value;

Affine placed(const BodyContext& context, const Affine& domain_form) {
  const Domain& domain = context.shape.domain();
  Affine sum(domain_form.constant());
  for (size_t k = 0; k < domain_form.size(); ++k) {
    const int64_t c = domain_form.coefficient(k);
    if (c == 0) continue;
    if (k < domain.rank()) {
      sum += context.variables.resolve(context.shape.nest->axes[k]) * c;
    } else {
      const Division& division = domain.divisions[k - domain.rank()];
      const Affine numerator = placed(context, division.numerator);
      sum += context.index.floor_div(numerator, division.divisor) * c;
    }
  }
  return sum;
}

Affine placed(const BodyContext& context, ExprId index) {
  return placed(context, *context.shape.form(index));
}

std::optional<Affine> plain_address(const BodyContext& context, ExprId read) {
  const ExprPool& pool = context.pool();
  if (pool.read_predicate(read).valid()) return std::nullopt;
  const TensorPlace& place = context.places[pool.read_tensor(read)];
  const std::span<const ExprId> index = pool.read_index(read);
  Affine form;
  for (size_t d = 0; d < index.size(); ++d) {
    if (!context.shape.form(index[d])) return std::nullopt;
    form += placed(context, index[d]) * place.strides[d];
    if (!place.origin.empty())
      form -= context.variables.resolve(place.origin[d]) * place.strides[d];
  }
  return form;
}

llvm::Align alignment_at(const TensorPlace& place, int64_t element_bytes, const Affine& form,
                         const std::vector<DataCoordinate>& data) {
  if (place.alignment == 0) return llvm::Align(static_cast<uint64_t>(element_bytes));
  int64_t divides = std::gcd(kMostAligned, place.alignment);
  const auto moved_by = [&](int64_t elements) {
    divides = std::gcd(divides, element_bytes * (elements % kMostAligned));
  };
  moved_by(form.constant());
  std::ranges::for_each(form.coefficients(), moved_by);
  for (const DataCoordinate& coordinate : data) moved_by(coordinate.stride);
  return llvm::Align(static_cast<uint64_t>(std::max(divides, element_bytes)));
}

Emitted index_value(const Emission& emission, const Affine& form) {
  IndexEmitter& index = emission.index;
  Value* value = emission.variables.in_lanes(form) ? index.vector(form, 64) : index.scalar(form);
  return {value, emission.variables.depth(form)};
}

bool differs_by_data(const Address& address) {
  return std::ranges::any_of(
      address.data, [](const DataCoordinate& d) { return d.index.value->getType()->isVectorTy(); });
}

Value* moved_by_data(llvm::IRBuilder<>& builder, Value* pointer, llvm::Type* element,
                     const Address& address) {
  for (const auto& [index, stride] : address.data)
    if (!index.value->getType()->isVectorTy())
      pointer = builder.CreateInBoundsGEP(
          element, pointer,
          builder.CreateMul(index.value, builder.getInt64(static_cast<uint64_t>(stride))));
  return pointer;
}

}  // namespace adjit::emit
