// runtime/diff/indices.hpp -- what a domain tells about an index.
#pragma once

#include "runtime/graph/graph.hpp"

namespace adjit {

/// An index (Int64) without the minima and maxima that the domain decides: min(p, 2) is p where a
/// row says p <= 2. Equal to the index at every point of the domain.
ExprId without_bounds(ExprPool& pool, ExprId index, const Domain& domain);

}  // namespace adjit
