// jit/emit/masks.hpp -- which points of a tile there are, as conditions in registers.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "jit/emit/body.hpp"
#include "jit/emit/nest_constraints.hpp"

namespace adjit::emit {

class Masks {
 public:
  /// All must outlive it.
  Masks(const NestShape& shape, llvm::IRBuilder<>& builder, Scopes& scopes, IndexEmitter& index,
        BodyEmitter& body);

  /// Makes the unrolled loops' variables those of an instance.
  void select(const TileInstance& instance);
  /// Whether all hold at the selected instance; no value where they hold everywhere.
  Emitted all_of(const Constraints& constraints);
  /// Whether all (resolved) forms are at least 0; no value where they are everywhere.
  Emitted at_least_zero(const std::vector<Affine>& forms);
  /// The first lanes of the nest's; no value where that is all of them.
  Emitted first_lanes(unsigned live_lanes);
  /// The conjunction; no value is true. One value for each pair.
  Emitted both(Emitted a, Emitted b);

 private:
  const NestShape& shape_;
  llvm::IRBuilder<>& builder_;
  Scopes& scopes_;
  IndexEmitter& index_;
  BodyEmitter& body_;
  std::map<std::pair<llvm::Value*, llvm::Value*>, std::pair<Emitted, uint64_t>>
      conjunctions_;  // and the serials of their scopes
};

}  // namespace adjit::emit
