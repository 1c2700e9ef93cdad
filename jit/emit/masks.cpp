// jit/emit/masks.cpp -- constraints and tails as masks.
#include "jit/emit/masks.hpp"

#include <algorithm>

namespace adjit::emit {

using llvm::Value;

Masks::Masks(const NestShape& shape, llvm::IRBuilder<>& builder, Scopes& scopes,
             IndexEmitter& index, BodyEmitter& body)
    : shape_(shape), builder_(builder), scopes_(scopes), index_(index), body_(body) {}

void Masks::select(const TileInstance& instance) {
  for (size_t c = 0; c < shape_.unrolled_loops.size(); ++c)
    index_.bind_fixed(shape_.nest->loops[shape_.unrolled_loops[c]].variable, instance.values[c]);
}

Emitted Masks::both(Emitted a, Emitted b) {
  const auto is_one = [](const Value* value) {
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value);
    return constant && constant->isOne();
  };
  if (!b.value || is_one(b.value)) return a;
  if (!a.value || is_one(a.value)) return b;
  auto& [both, serial] = conjunctions_[{a.value, b.value}];
  if (!both.value || !scopes_.alive(both.depth, serial)) {
    const size_t depth = std::max(a.depth, b.depth);
    if (a.value->getType()->isVectorTy() || b.value->getType()->isVectorTy()) {
      a.value = body_.splat(a);
      b.value = body_.splat(b);
    }
    both = {scopes_.at(depth, [&] { return builder_.CreateAnd(a.value, b.value); }), depth};
    serial = scopes_.serial(depth);
  }
  return both;
}

Emitted Masks::all_of(const Constraints& constraints) {
  Emitted all;
  for (const AffineConstraint& constraint : constraints) {
    const Affine form = body_.place(constraint.form);
    all = both(all, {constraint.equality ? index_.equals_zero(form) : index_.at_least_zero(form),
                     index_.depth(form)});
  }
  return all;
}

Emitted Masks::at_least_zero(const std::vector<Affine>& forms) {
  Emitted all;
  for (const Affine& form : forms)
    all = both(all, {index_.at_least_zero(form), index_.depth(form)});
  return all;
}

Emitted Masks::first_lanes(unsigned live_lanes) {
  if (!shape_.lane_loop || live_lanes == shape_.lanes) return {};
  llvm::SmallVector<llvm::Constant*, 64> mask;
  for (unsigned lane = 0; lane < shape_.lanes; ++lane)
    mask.push_back(builder_.getInt1(lane < live_lanes));
  return {llvm::ConstantVector::get(mask), 0};
}

}  // namespace adjit::emit
