// jit/emit/shape/tile_versions.hpp -- versions of a tile that ask fewer constraints.
//
// A constraint that differs between the points of a tile is a mask, asked at every step. There is
// less to ask where
//  - it says only which results are empty: these are left out when they are stored;
//  - it holds for no point of the tile: a reduction loop ends before;
//  - it holds for all points of the tile, as it does but at the borders of a convolution's image or
//    on a triangle's diagonal: a second version of the tile has no masks, a third one only those of
//    constraints that differ between lanes, and a step takes the first that it may;
//  - it holds for no point of some of the tile's vectors: versions without these.
//
// No code is made here: what a version supposes are (resolved) forms that are at least 0.
// `variables` are the kernel's, bound as they are where the version is chosen.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jit/emit/scopes/kernel_variables.hpp"
#include "jit/emit/shape/nest_constraints.hpp"
#include "jit/emit/shape/nest_shape.hpp"

namespace adjit::emit {

/// At which borders of its constraints a version of the tile may be.
enum class Border : uint8_t { None, Lanes, Any };

/// The constraints that a version asks: at a border of the lanes alone, few masks serve all
/// instances.
Constraints asked_at(const NestShape& shape, const Constraints& tile, Border border);

/// Whether so many steps find all constraints with extremes to hold for the whole tile that it gets
/// a second version. `nodes`: of the body's expressions.
bool has_interior(const NestShape& shape, const Constraints& tile, const KernelVariables& variables,
                  size_t nodes);
/// What is at least 0 where those constraints with extremes that do (or do not) differ between
/// lanes hold for all points of the tile.
std::vector<Affine> interior(const NestShape& shape, const Constraints& tile,
                             const KernelVariables& variables, bool in_lanes);
/// What is at least 0 where any point of the tile may have a result; forms that always are are left
/// out.
std::vector<Affine> may_have_results(const NestShape& shape, const NestConstraints& constraints,
                                     const KernelVariables& variables);

/// A vector of results that a constraint leaves out of many steps.
struct LeftOut {
  int64_t vector;    // its first point, from the tile's
  Affine condition;  // negative where no point of the vector has a term
};
/// All that a tile has (one half of a triangle's columns in the other half's steps): the condition
/// of the next one is never less. `limits`: per axis, points of the tile inside it.
std::vector<LeftOut> vectors_left_out(const NestShape& shape, const NestConstraints& constraints,
                                      std::span<const int64_t> limits,
                                      const KernelVariables& variables, size_t nodes);
/// Those constraints that one vector of results has to ask where a form is not negative: in the
/// half in which a triangle's other columns have terms, these all have one.
Constraints asked_of_vector(const NestShape& shape, Constraints asked,
                            const KernelVariables& variables, int64_t vector,
                            const Affine& not_negative);

}  // namespace adjit::emit
