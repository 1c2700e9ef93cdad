// jit/emit/shape/narrow_coordinates.hpp -- which indices that data decides may be computed in 32
// bits.
//
// Such an index is often limited: max(min(m + int64(floor(t)), 127), 0). Without AVX-512 there are
// neither conversions from floats to 64-bit integers nor their minimum and maximum in lanes; a GPU
// takes two to four instructions for each. The
// 32-bit value of what stands inside is exact up to some magnitude; beyond that it has the same
// sign and is no smaller, so that min and max give the same. A float that is no 64-bit integer
// becomes the last 32-bit integer on its side, as it becomes the last one of 64 bits there: sums
// wrap alike. (Doubles less than 2^20 below 2^63 wrap in 64 bits only.)
#pragma once

#include <cstdint>
#include <vector>

#include "jit/emit/shape/index_forms.hpp"

namespace adjit::emit {

/// What a cast to 64-bit integers becomes at most in 32 bits, but for floats that are no 64-bit
/// integers.
inline constexpr int64_t kFarCoordinate = int64_t{1} << 30;

/// Whether a coordinate without a form gives the same element in 32 bits: made of casts from floats
/// and of forms by sums, differences, minima, maxima and selects, so few that recursion may walk
/// them.
bool is_narrow(IndexForms& forms, ExprId coordinate);

/// What a narrow coordinate is made of as it is otherwise: what is cast, and asked in selects.
std::vector<ExprId> narrow_inputs(IndexForms& forms, ExprId coordinate);

}  // namespace adjit::emit
