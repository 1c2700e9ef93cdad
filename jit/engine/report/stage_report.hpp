// jit/engine/report/stage_report.hpp -- the stages of a graph as JSON, for people and for bindings.
#pragma once

#include <string>

#include "runtime/graph/graph.hpp"

namespace adjit::engine {

/// JSON array, one object per stage: name, shape, dtype, flops, bytes, iterations (points of its
/// domain, exact; null when counting exceeds its budget), lines. flops: floating operations of the
/// bodies and the combiner at every point; bytes: of every tensor read or written, once.
std::string stages_json(const Graph& graph);

}  // namespace adjit::engine
