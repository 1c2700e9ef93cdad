// runtime/diff/rewrite/rewrite.hpp -- replacing parts of expressions.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// The expressions with axis k replaced by axes[k] (axes past the list stay).
std::vector<ExprId> substitute_axes(ExprPool& pool, std::span<const ExprId> roots,
                                    std::span<const ExprId> axes);
ExprId substitute_axes(ExprPool& pool, ExprId root, std::span<const ExprId> axes);

/// The expressions with every node that is a key replaced by its value (values are not searched
/// again).
std::vector<ExprId> replace_nodes(ExprPool& pool, std::span<const ExprId> roots,
                                  const std::unordered_map<uint32_t, ExprId>& replacements);

/// The node with the operands that are keys replaced; built anew, so that it folds.
ExprId with_operands(ExprPool& pool, ExprId id, const std::unordered_map<uint32_t, ExprId>& now);

/// axis(0), ..., axis(count - 1).
std::vector<ExprId> axes(ExprPool& pool, size_t count);

/// Row-major number of a point of the axes first .. first+count-1 of a domain.
ExprId linear_index(ExprPool& pool, const Domain& domain, size_t first, size_t count);

}  // namespace adjit::diff
