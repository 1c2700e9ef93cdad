// runtime/graph/interpret/interpreter.hpp -- the meaning of a graph: slow, obvious, the oracle of
// every test.
#pragma once

#include <span>
#include <vector>

#include "runtime/graph/graph.hpp"
#include "runtime/graph/interpret/array.hpp"

namespace adjit::graph {

/// Runs a graph on arrays, one per input (dtypes and shapes must fit: ErrorCode::Shape / DType).
/// Reductions run in domain order, sums accumulate in the accumulator type (a product body by fma).
/// A data-dependent read out of range raises ErrorCode::Bounds naming the index. Scans and scatters
/// included; calls raise unless registered with `calls`.
std::vector<Array> interpret(const Graph& graph, std::span<const Array> inputs);

/// The same with every float32 operation done in float64 (inputs and results float64): for finite
/// differences.
std::vector<Array> interpret_in_double(const Graph& graph, std::span<const Array> inputs);

}  // namespace adjit::graph
