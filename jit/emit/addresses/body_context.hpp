// jit/emit/addresses/body_context.hpp -- what the emitters of one stage's expressions share.
#pragma once

#include "jit/emit/scopes/emission.hpp"
#include "jit/emit/scopes/splats.hpp"
#include "jit/emit/shape/body_shape.hpp"
#include "jit/emit/shape/places.hpp"

namespace adjit::emit {

/// What the emitters of one stage's expressions share.
struct BodyContext : Emission {
  const BodyShape& shape;
  const TensorPlaces& places;
  Splats& splats;

  const LoweredGraph& graph() const { return *shape.graph; }
  const ExprPool& pool() const { return shape.graph->pool; }
};

}  // namespace adjit::emit
