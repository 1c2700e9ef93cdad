// tests/fuzz/oracle/rounding.hpp -- whether a difference between two computations of one graph may
// be due to rounding alone.
#pragma once

#include <vector>

#include "runtime/graph/interpret/interpreter.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// Whether computing `graph` in its own types may give `value` as an element of an output: it lies
/// within four times the error bound of the wide interpreter (sums in other orders, functions to a
/// few units in the last place), or rounding decides it, as it does what lies behind a float that
/// becomes an integer beside a whole number, and behind an argmin of values that may be equal.
/// Slow: to be asked about elements that differ.
bool rounding_may_give(const Graph& graph, const std::vector<Array>& inputs, size_t output,
                       int64_t element, double value);

}  // namespace adjit::testing
