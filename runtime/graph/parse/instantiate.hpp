// runtime/graph/parse/instantiate.hpp -- a definition's syntax and concrete shapes to a graph.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "runtime/graph/parse/syntax.hpp"

namespace adjit::graph {

/// One graph of a definition. Shapes bind the symbols of the inputs' types.
/// Errors: Shape (a symbol with two values, a rank that does not fit), DType, Parse (all located in
/// the source).
Graph instantiate(const Source& source, const DefinitionSyntax& definition,
                  std::span<const std::vector<int64_t>> shapes, std::span<const DType> dtypes);

/// The same with the shapes and dtypes that the definition itself declares, which must be numbers.
Graph instantiate_concrete(const Source& source, const DefinitionSyntax& definition);

}  // namespace adjit::graph
