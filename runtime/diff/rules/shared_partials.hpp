// runtime/diff/rules/shared_partials.hpp -- partials that several accesses share are computed once.
//
// Worked example, Y[i] = tanh(X[i] * W[0] + X[i + 1] * W[1] + ... 25 taps): every access's partial
// contains dY[i] * (1 - tanh(...)^2), and the 25 gathers read it at 25 shifted points: without a
// cut the body runs 25 times. The cut makes U[i] = dY[i] * (1 - tanh(...)^2) a stage; the accesses
// read it.
#pragma once

#include <span>
#include <vector>

#include "runtime/diff/rules/sweep.hpp"
#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// An expression is cut when its cost (operations; 4 for divisions and roots, 10 for
/// transcendentals, 1 a read) is at least kCutCost and the work that cutting saves, cost *
/// (accesses - 1), at least kCutWork.
inline constexpr int kCutCost = 4;
inline constexpr int kCutWork = 32;

/// Rewrites the accesses' values to read a tuple stage over `domain` that holds what they share.
/// Does nothing unless the domain has no reduction axes and there are two accesses or more. Only
/// expressions whose reads all occur in `unconditional` are cut: others may be out of bounds where
/// no select protects them.
void share_partials(Graph& graph, const Domain& domain, std::span<const ExprId> unconditional,
                    const std::vector<SourceLine>& lines, std::vector<Access>& accesses);

}  // namespace adjit::diff
