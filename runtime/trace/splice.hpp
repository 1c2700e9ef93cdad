// runtime/trace/splice.hpp -- whole graphs inside a trace: calls of a graph, and scans over one.
#pragma once

#include <span>
#include <vector>

#include "runtime/trace/trace.hpp"

namespace adjit::trace {

/// A Scan stage: final carries, then stacked results (see struct Scan). ErrorCode::Shape / DType
/// when the operands do not fit the body's inputs, or the body changes a carry's shape or dtype.
std::vector<TensorId> add_scan(Trace& trace, Scan scan, std::span<const TensorId> operands);
/// A Call stage (see struct Call): the function's results. ErrorCode::Shape / DType when the
/// operands do not fit, or forward and backward do not fit the body.
std::vector<TensorId> add_call(Trace& trace, Call call, std::span<const TensorId> operands);
/// Splices a graph into this one: its inputs become `arguments`, its outputs are returned. Its
/// stages keep their source lines. ErrorCode::Shape / DType name the argument that does not fit.
std::vector<TensorId> splice(Trace& trace, const Graph& callee,
                             std::span<const TensorId> arguments);

}  // namespace adjit::trace
