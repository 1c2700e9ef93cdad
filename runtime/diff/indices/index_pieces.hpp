// runtime/diff/indices/index_pieces.hpp -- indices that are affine piece by piece, and the pieces.
//
// Worked example: over 0 <= i < n, 0 <= r < 3 the index clip(i + r - 1, 0, n - 1) is
//   0          where i + r - 1 < 0,
//   i + r - 1  where 0 <= i + r - 1 < n,
//   n - 1      where n <= i + r - 1.
// Each piece is a domain over which the index is one affine form, so that its fibre is a gather
// (runtime/domain/fibre.hpp); a scatter is left to indices that depend on data.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// Pieces that a domain is split into at most: three of each of four coordinates that are clipped.
inline constexpr size_t kMostPieces = 81;

struct IndexPiece {
  Domain domain;              // with the divisions that the forms need
  std::vector<Affine> index;  // per coordinate
  ExprId condition;           // what is left to ask at its points; invalid: nothing
};

/// Disjoint domains, together the points of `domain` where `condition` may hold, over each of which
/// all coordinates (Int64) are affine. Min, max, abs, sign, comparisons, and selects by them, in
/// coordinates and in the condition, split the domain one after the other; what is certainly empty
/// is dropped. Of the condition's conjuncts those that data decides are left to ask, and all of
/// them where they would take more than kMostPieces. nullopt where a coordinate depends on data or
/// is not affine, or past kMostPieces.
std::optional<std::vector<IndexPiece>> index_pieces(ExprPool& pool, const Domain& domain,
                                                    std::span<const ExprId> coordinates,
                                                    ExprId condition);

}  // namespace adjit::diff
