// runtime/trace/lowering.hpp -- from index notation to stages.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/trace/index_notation.hpp"

namespace adjit::trace {

/// result[axes...] = body, of shape (extents of the axes). Raises ErrorCode::Invalid for an axis
/// that is neither an output axis nor reduced, ErrorCode::Bounds for a read that can leave its
/// tensor.
TensorId compute(IndexNotation& n, std::string_view name, std::span<const AxisHandle> axes,
                 ScalarExpr body);
/// Several results over the same axes: one tuple stage where no body is a reduction, else a stage
/// each.
std::vector<TensorId> compute(IndexNotation& n, std::string_view name,
                              std::span<const AxisHandle> axes, std::span<const ScalarExpr> bodies);
/// result[target...] (+)= value over all points of the axes. `kind`: Sum, Product, Max, Min, or
/// None (the last writer in axis order wins). The result starts as `initial` when valid (same
/// shape and dtype), else as the combiner's identity (0 for None). A target known to leave the
/// shape raises ErrorCode::Bounds unless `out_of_range` says otherwise.
TensorId scatter(IndexNotation& n, std::string_view name, std::vector<int64_t> shape,
                 std::span<const AxisHandle> axes, std::span<const ScalarExpr> target,
                 ScalarExpr value, CombinerKind kind = CombinerKind::Sum, TensorId initial = {},
                 OutOfRange out_of_range = OutOfRange::Error, ScalarExpr where = {});

}  // namespace adjit::trace
