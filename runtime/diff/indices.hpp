// runtime/diff/indices.hpp -- what a domain tells about an index.
#pragma once

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// An index or a condition on indices without the choices (index_choices.hpp) that the domain
/// decides: min(p, 2) is p where a row says p <= 2. Equal to it at every point of the domain.
ExprId without_choices(ExprPool& pool, ExprId index, const Domain& domain);

}  // namespace adjit::diff
