// runtime/diff/indices/indices.hpp -- what a domain tells about an index.
#pragma once

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// An index or a condition on indices without the choices (index_choices.hpp) that the domain
/// decides: min(p, 2) is p where a row says p <= 2. Equal to it at every point of the domain.
ExprId without_choices(ExprPool& pool, ExprId index, const Domain& domain);

/// Indices of reads are written with fewer divisions where their affine form over the domain has
/// fewer: (r + 2*k + 1) // 2 is k + r for r in 0:2.
Graph simplify_indices(Graph graph);

}  // namespace adjit::diff
