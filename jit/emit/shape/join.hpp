// jit/emit/shape/join.hpp -- joins whose points are one load each.
#pragma once

#include <optional>
#include <vector>

#include "autosched/analysis/reads/join_chain.hpp"
#include "jit/emit/shape/index_forms.hpp"
#include "runtime/graph/graph.hpp"

namespace adjit::emit {

struct Join {
  Affine position;               // over the stage's axes and its domain's divisions
  std::vector<int64_t> begins;   // ascending: part k is read where begins[k] <= position, and less
                                 // than begins[k + 1] (the last one: wherever it is not less)
  std::vector<ExprId> reads;     // one for each part, in bounds where they are read
  DType dtype = DType::Float32;  // to which what is read is cast
};

/// What a chain joins; nothing where a read is not certainly in bounds at every point that reaches
/// it, or has a predicate that may not hold there.
std::optional<Join> join_of(const Graph& graph, const JoinChain& chain, IndexForms& forms);

}  // namespace adjit::emit
