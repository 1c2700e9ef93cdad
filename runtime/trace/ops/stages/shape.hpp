// runtime/trace/ops/stages/shape.hpp -- arithmetic of shapes: broadcasting, axes counted from the
// end.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/process/rooms.hpp"

namespace adjit::trace {

using Shape = std::vector<int64_t>;

/// NumPy's rule: aligned at the end, extents equal or 1. ErrorCode::Shape shows both shapes.
Shape broadcast(std::span<const int64_t> a, std::span<const int64_t> b);

/// An axis in [-rank, rank) as [0, rank). ErrorCode::Invalid names the parameter and the rank.
size_t normalized_axis(int64_t axis, size_t rank, std::string_view parameter = "axis");
/// Several, in the order given. ErrorCode::Invalid for one given twice.
std::vector<size_t> normalized_axes(std::span<const int64_t> axes, size_t rank,
                                    std::string_view parameter = "axis");

/// Product of the extents; Overflow where it leaves 64 bits.
int64_t element_count(std::span<const int64_t> shape);
/// Row-major strides in elements.
Shape row_major_strides(std::span<const int64_t> shape);
/// A number of elements that was computed in floating point. ErrorCode::Shape, naming it as `what`,
/// unless it is a non-negative integer of 63 bits.
int64_t extent_of(double count, std::string_view what);
/// 0, 1, ..., rank - 1.
std::vector<size_t> all_axes(size_t rank);

}  // namespace adjit::trace
