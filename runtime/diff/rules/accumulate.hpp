// runtime/diff/rules/accumulate.hpp -- all contributions to one tensor become its cotangent: few
// stages of bounded size.
#pragma once

#include <vector>

#include "runtime/diff/rules/transpose_access.hpp"
#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// The cotangent of a tensor: a tensor of its shape and dtype, or one constant for all elements.
struct Cotangent {
  TensorId tensor;
  ExprId constant;  // dtype: accumulator_of the tensor's
  ExprId support;  // over the tensor's axes: elsewhere it is structurally zero; invalid: everywhere
  bool zero() const { return !tensor.valid() && !constant.valid(); }
};

/// The cotangent at an index, in the accumulator dtype. It must not be zero().
ExprId read_cotangent(Graph& graph, const Cotangent& cotangent, std::span<const ExprId> index,
                      ExprId predicate = {});

/// Terms that one stage's body adds at most; longer sums become trees of stages.
inline constexpr size_t kTermsPerStage = 64;

/// Adds the stages that sum up the contributions to `tensor`:
///  - gathers over the same domain from the same forward stage share one Sum;
///  - gathers without free axes are terms of one elementwise stage, which also adds up the Sums;
///  - scatters follow, each starting from the sum so far.
/// Zero when there are no contributions.
Cotangent accumulate(Graph& graph, TensorId tensor, const std::vector<Contribution>& contributions,
                     const std::vector<SourceLine>& lines);

/// A tensor of this shape holding the cotangent (zeros or the constant written out where needed).
TensorId materialised(Graph& graph, TensorId like, const Cotangent& cotangent);

}  // namespace adjit::diff
