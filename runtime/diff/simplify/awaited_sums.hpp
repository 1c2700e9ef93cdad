// runtime/diff/simplify/awaited_sums.hpp -- factors of a sum that other sums of its operands give.
//
// Example, of a batch norm's gradient: with v[j] made of sum over r of g[r, j] * x[r, j],
//   s[j] = sum over r of v[j] * x[r, j]
// goes through x once more when the other sum is there. As v[j] * (sum over r of x[r, j]) both are
// added up in one pass.
#pragma once

#include <cstddef>
#include <span>
#include <unordered_map>

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// The place among a graph's stages of the one that defines a tensor.
using StageOf = std::unordered_map<uint32_t, size_t>;

/// Whether one of a sum's factors waits for a reduction, with as many points in its box as the sum
/// has, of a tensor that the sum's other factors read, while these do not wait for it. `factors`:
/// what they are read from; `others`: what the others read. False, too, where finding out would
/// take long.
bool any_waits_for_reduction_of(const Graph& graph, const StageOf& stage_of,
                                std::span<const TensorId> factors, std::span<const TensorId> others,
                                const Domain& domain_of_sum);

}  // namespace adjit::diff
