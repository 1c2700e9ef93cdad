// tests/runtime/diff/gradient_check.hpp -- derived gradients against central differences in
// float64.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "runtime/graph/graph.hpp"
#include "runtime/graph/interpret/interpreter.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// Values for every input: floats uniform in [lo, hi], integers 0 .. hi - 1.
std::vector<Array> random_inputs(const Graph& graph, uint32_t seed = 1, double lo = 0.3,
                                 double hi = 1.2);

/// Checks d(outputs)/d(float inputs) of every order up to `order`: the vjp with random cotangents
/// against differences of the interpreted graph, element by element, 1e-6 relative (to the largest
/// entry of that gradient).
::testing::AssertionResult check_gradients(const Graph& forward, const std::vector<Array>& inputs,
                                           int order = 2);
::testing::AssertionResult check_gradients(const Graph& forward, int order = 2);

/// Whether `b` is a valid graph with the values that `a` has for these inputs, to 1e-12.
::testing::AssertionResult same_values(const Graph& a, const Graph& b,
                                       const std::vector<Array>& inputs);
/// The same for random floats, and integers that are 0 and 1 by turns.
::testing::AssertionResult same_values(const Graph& a, const Graph& b);

/// The positions of float inputs, and outputs.
std::vector<size_t> float_inputs(const Graph& graph);

std::vector<size_t> float_outputs(const Graph& graph);

/// Gradients of the first output by the float inputs.
Graph adjoint(const Graph& forward);

/// Of all domains together.
int64_t points(const Graph& graph);

}  // namespace adjit::testing
