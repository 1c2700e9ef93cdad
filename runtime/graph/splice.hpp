// runtime/graph/splice.hpp -- a whole graph copied into another one.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace adjit::graph {

/// Appends the constants and stages of `callee` to `target`; its inputs become `arguments` (whose
/// shapes and dtypes fit: callers check), its outputs are returned. Stages without source lines get
/// `lines`. `on_stage` may change each copied stage before it is appended.
std::vector<TensorId> splice(Graph& target, const Graph& callee,
                             std::span<const TensorId> arguments,
                             const std::vector<SourceLine>& lines,
                             const std::function<void(Stage&)>& on_stage = {});

}  // namespace adjit::graph
