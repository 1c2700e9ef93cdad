// jit/emit/addresses/conditions.cpp -- the conditions of a load as one.
#include "jit/emit/addresses/conditions.hpp"

#include <algorithm>

namespace adjit::emit {

using llvm::Value;

Emitted conjunction(const BodyContext& context, const std::vector<Emitted>& conditions,
                    bool in_lanes) {
  llvm::IRBuilder<>& builder = context.builder;
  Emitted all;
  for (const Emitted& condition : conditions) {
    const size_t depth = std::max(all.depth, condition.depth);
    Value* value = condition.value;
    const bool vector = value->getType()->isVectorTy();
    if (auto* known = llvm::dyn_cast<llvm::Constant>(value); known && known->isAllOnesValue())
      continue;  // holds in this tile
    if (in_lanes) {
      value = context.splats(condition);
    } else if (auto* mask = llvm::dyn_cast<llvm::Constant>(value); mask && vector) {
      if (!mask->isNullValue())
        continue;  // a tail, or constraints of one instance, with live lanes
      value = builder.getFalse();
    } else if (vector) {
      value = context.scopes.at(condition.depth, [&] { return builder.CreateOrReduce(value); });
    }
    if (all.value) {
      Value* left = all.value;
      value = context.scopes.at(depth, [&] { return builder.CreateAnd(left, value); });
    }
    all = {value, depth};
  }
  return all;
}

}  // namespace adjit::emit
