// runtime/graph/interpret/widen.hpp -- the same computation with every float type replaced by
// float64.
#pragma once

#include "runtime/graph/graph.hpp"
#include "runtime/graph/interpret/array.hpp"

namespace adjit::graph {

/// Every float tensor, constant and operation in float64; casts between float types become the
/// identity. Constants keep their (rounded) values. The result is for the interpreter: its
/// expressions are not folded again.
Graph widen(const Graph& graph);
/// Float arrays converted to float64; others as they are.
Array widen(const Array& array);

}  // namespace adjit::graph
