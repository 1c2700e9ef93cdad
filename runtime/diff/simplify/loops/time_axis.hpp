// runtime/diff/simplify/loops/time_axis.hpp -- a stage of a scan's step as one stage over all
// steps: time becomes one more axis.
#pragma once

#include <functional>
#include <optional>

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// What a tensor of a step is outside of the loop; `sliced`: its leading axis is time.
struct Outside {
  TensorId tensor;
  bool sliced = false;
};

/// The domain with time, of `trips` points, as axis `at`: 0 (the first output axis) or the output
/// rank (the first reduction axis, when `reduced`).
Domain with_time_axis(const Domain& domain, size_t at, int64_t trips, bool reduced);

/// The step's expression, in the graph's pool, over such a domain: reads of what is sliced take the
/// slice of time, later axes make room. `outside` says what a tensor of the step is.
ExprId over_time_axis(const Graph& step, Graph& graph, ExprId body, size_t at,
                      const std::function<Outside(TensorId)>& outside);

}  // namespace adjit::diff
