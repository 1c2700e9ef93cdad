// jit/emit/body/masks.cpp -- constraints and tails as masks.
#include "jit/emit/body/masks.hpp"

#include <algorithm>

#include "jit/emit/addresses/address.hpp"

namespace adjit::emit {

using llvm::Value;

void Masks::select(const TileInstance& instance) {
  for (size_t c = 0; c < instance.values.size(); ++c)
    context_.variables.bind_fixed(context_.shape.unrolled(c).variable, instance.values[c]);
}

Emitted Masks::conjunction(Emitted a, Emitted b) {
  const auto is_one = [](const Value* value) {
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value);
    return constant && constant->isOne();
  };
  if (!b.value || is_one(b.value)) return a;
  if (!a.value || is_one(a.value)) return b;
  const std::pair pair(a.value, b.value);
  if (const Emitted* known = conjunctions_.find(pair)) return *known;
  const size_t depth = std::max(a.depth, b.depth);
  if (a.value->getType()->isVectorTy() || b.value->getType()->isVectorTy()) {
    a.value = context_.splats(a);
    b.value = context_.splats(b);
  }
  const Emitted both =
      context_.scopes.emit(depth, [&] { return context_.builder.CreateAnd(a.value, b.value); });
  return conjunctions_.remember(pair, both, depth);
}

Emitted Masks::all_of(const Constraints& constraints) {
  Emitted all;
  for (const AffineConstraint& constraint : constraints) {
    const Affine form = placed(context_, constraint.form);
    all = conjunction(all, {constraint.equality ? context_.index.equals_zero(form)
                                                : context_.index.at_least_zero(form),
                            context_.variables.depth(form)});
  }
  return all;
}

Emitted Masks::at_least_zero(const std::vector<Affine>& forms) {
  Emitted all;
  for (const Affine& form : forms)
    all = conjunction(all, {context_.index.at_least_zero(form), context_.variables.depth(form)});
  return all;
}

Value* Masks::at_least_zero_here(const std::vector<Affine>& forms) {
  Value* all = context_.builder.getTrue();
  for (const Affine& form : forms)
    all = context_.builder.CreateAnd(all, context_.index.at_least_zero(form));
  return all;
}

Emitted Masks::first_lanes(unsigned live_lanes) {
  const NestShape& nest = *context_.shape.nest;
  if (!nest.lane_loop || live_lanes == nest.lanes) return {};
  llvm::SmallVector<llvm::Constant*, 64> mask;
  for (unsigned lane = 0; lane < nest.lanes; ++lane)
    mask.push_back(context_.builder.getInt1(lane < live_lanes));
  return {llvm::ConstantVector::get(mask), 0};
}

}  // namespace adjit::emit
