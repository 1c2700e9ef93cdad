// runtime/diff/simplify/long_sums.hpp -- long sums of float32 are added in float64.
#pragma once

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// Points of a reduction from which on a sum is a long one: of up to 8 results, and of more. (Down
/// columns of 1,024 rows, what conversions take shows.)
inline constexpr int64_t kLongSum = 1024, kLongSumOfMany = 4096;

/// Every long sum of float32 (half types add in float32) that goes through an operand about once
/// (of a product: through both), so that it waits for memory, becomes a sum in float64 and a
/// stage that rounds it. Terms are added in groups of four before they are converted where bodies
/// are short, the domain is a box, all results are float32, and the sum does not go down many
/// columns. The error of n terms of
/// one sign is at most 2 u (the group) + u (the rounding) + n 2^-53: below 2^-22 for n up to 2^28.
/// Where terms are products, rounding those takes up to u more. Sums that use an operand many
/// times (products of matrices, convolutions) and prefix sums stay in float32. For graphs that
/// nothing derives or contracts later.
Graph long_sums_in_float64(const Graph& graph);

}  // namespace adjit::diff
