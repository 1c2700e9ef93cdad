// jit/emit/body/masks.hpp -- which points of a tile there are, as conditions in registers.
#pragma once

#include <utility>
#include <vector>

#include "jit/emit/addresses/body_context.hpp"
#include "jit/emit/scopes/emitted.hpp"
#include "jit/emit/scopes/scoped_memo.hpp"
#include "jit/emit/shape/nest_constraints.hpp"
#include "jit/emit/shape/nest_shape.hpp"

namespace adjit::emit {

class Masks {
 public:
  /// All of the context must outlive it.
  explicit Masks(const BodyContext& context) : context_(context), conjunctions_(context.scopes) {}

  /// Makes the unrolled loops' variables those of an instance.
  void select(const TileInstance& instance);
  /// Whether all hold at the selected instance; no value where they hold everywhere.
  Emitted all_of(const Constraints& constraints);
  /// Whether all (resolved) forms are at least 0; no value where they are everywhere.
  Emitted at_least_zero(const std::vector<Affine>& forms);
  /// The same as one value, joined where the builder stands: for a branch that alone asks.
  llvm::Value* at_least_zero_here(const std::vector<Affine>& forms);
  /// The first lanes of the nest's; no value where that is all of them.
  Emitted first_lanes(unsigned live_lanes);
  /// The conjunction; no value is true. One value for each pair.
  Emitted conjunction(Emitted a, Emitted b);

 private:
  using Pair = std::pair<llvm::Value*, llvm::Value*>;
  struct PairHash {
    size_t operator()(const Pair& pair) const {
      return reinterpret_cast<uintptr_t>(pair.first) * 0x9e3779b97f4a7c15ull ^
             reinterpret_cast<uintptr_t>(pair.second);
    }
  };

  const BodyContext context_;
  ScopedMemo<Pair, Emitted, PairHash> conjunctions_;
};

}  // namespace adjit::emit
