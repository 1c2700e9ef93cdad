// jit/emit/tile/pointwise.hpp -- the tile of a stage without reduction.
#pragma once

#include "jit/emit/tile/nest_context.hpp"

namespace adjit::emit {

/// Every instance is one (vector of) points, which are stored; a point that the constraints exclude
/// is 0. Tiles with no point and tiles with points only inside the constraints have versions of
/// their own.
void emit_pointwise(NestContext& nest);

}  // namespace adjit::emit
