// jit/emit/addresses/body_context.hpp -- what the emitters of one stage's expressions share.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "jit/emit/math/vector_math.hpp"
#include "jit/emit/scopes/index.hpp"
#include "jit/emit/scopes/splats.hpp"
#include "jit/emit/shape/body_shape.hpp"
#include "jit/emit/shape/places.hpp"

namespace adjit::emit {

/// What the emitters of one stage's expressions share.
struct BodyContext {
  const BodyShape& shape;
  const TensorPlaces& places;
  llvm::IRBuilder<>& builder;
  Scopes& scopes;
  IndexEmitter& index;
  VectorMath& math;
  Splats& splats;

  const Graph& graph() const { return *shape.graph; }
  const ExprPool& pool() const { return shape.graph->pool; }
};

}  // namespace adjit::emit
