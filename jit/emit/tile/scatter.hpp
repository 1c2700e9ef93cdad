// jit/emit/tile/scatter.hpp -- the points of a lowered scatter, which have no accumulators.
#pragma once

#include "jit/emit/tile/nest_context.hpp"

namespace adjit::emit {

/// Every instance of the tile reads, combines and writes, in order.
void emit_scatter(NestContext& nest);

}  // namespace adjit::emit
