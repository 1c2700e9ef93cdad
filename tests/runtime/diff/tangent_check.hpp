// tests/runtime/diff/tangent_check.hpp -- forward mode against differences, and against reverse
// mode by <c, J t> = <J' c, t>.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "runtime/graph/graph.hpp"
#include "runtime/graph/interpret/interpreter.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_values.hpp"

namespace adjit::testing {

/// Multiples of 1/64 between -1.6 and 1.6.
Array random_like(const TensorInfo& info, Random& random);
/// One for each of these inputs.
std::vector<Array> directions(const Graph& graph, const std::vector<size_t>& wrt, Random& random);
/// The arrays of `a`, then those of `b`.
std::vector<Array> joined(std::vector<Array> a, const std::vector<Array>& b);

/// Every float output's tangent, by all float inputs, against central differences along a
/// direction, 1e-6 relative.
::testing::AssertionResult agrees_with_differences(const Graph& forward,
                                                   const std::vector<Array>& inputs,
                                                   bool clean = true);
/// <c, J t> against <J' c, t>; nothing where a number is not finite.
::testing::AssertionResult agrees_with_reverse(const Graph& forward,
                                               const std::vector<Array>& inputs, uint64_t seed);

}  // namespace adjit::testing
