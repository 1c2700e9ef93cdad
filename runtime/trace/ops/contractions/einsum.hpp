// runtime/trace/ops/contractions/einsum.hpp -- contractions by labelled dimensions: what matmul,
// tensordot and einsum share.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "runtime/trace/trace.hpp"

namespace adjit::trace {

/// One label per dimension of a tensor. Labels shared by operands run together; a label may repeat
/// within one.
using Labels = std::vector<int>;

/// result[labels of `out`] = sum over all other labels of the product of the operands: ONE stage. A
/// dimension of extent 1 broadcasts against a larger one of the same label. Half types accumulate
/// in float32 and are rounded once. ErrorCode::Shape when a label has two extents; ErrorCode::DType
/// when the operands' dtypes differ.
TensorId contract(Trace& trace, std::string_view name, std::span<const TensorId> operands,
                  std::span<const Labels> labels, const Labels& out);

/// As contract, over any number of operands in few steps: labels that only one operand has are
/// summed first, then operands are joined in the order of contraction_order, each pair in one
/// stage, labels leaving as soon as nobody needs them. Three or more are cast to the dtype of all
/// first. Half types round once a stage, and may leave their range between two.
TensorId einsum(Trace& trace, std::span<const TensorId> operands, std::vector<Labels> labels,
                const Labels& out);

}  // namespace adjit::trace
