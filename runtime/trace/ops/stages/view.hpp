// runtime/trace/ops/stages/view.hpp -- stages that only rename indices: reshape, permute,
// broadcast, slice.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/trace/ops/stages/stage_builder.hpp"

namespace adjit::trace {

/// Output indices to input indices.
using IndexMap = std::function<std::vector<Formula>(std::span<const Formula>)>;

/// result[i...] = x[map(i...)], of x's dtype.
TensorId view(Trace& trace, std::string_view name, TensorId x, Shape shape, const IndexMap& map);

/// Row-major order kept. Element counts must agree.
TensorId reshape(Trace& trace, TensorId x, const Shape& shape);
/// The input indices of a reshape. Dimensions are grouped where products of leading extents agree,
/// so that a split or a merge of some dimensions touches no others: merging (I, J) gives n // J and
/// n % J, splitting gives i * J + j.
std::vector<Formula> reshaped_index(const Shape& from, const Shape& to,
                                    std::span<const Formula> index, Formula zero);
/// result dimension k is input dimension order[k].
TensorId permute(Trace& trace, TensorId x, std::span<const size_t> order);
TensorId broadcast_to(Trace& trace, TensorId x, const Shape& shape);
/// Dimensions of extent 1 inserted so that they stand at these positions of the result.
TensorId expand_dims(Trace& trace, TensorId x, std::span<const size_t> positions);
/// Dimensions of extent 1 removed.
TensorId squeeze(Trace& trace, TensorId x, std::span<const size_t> axes);
/// `extent` elements along one axis from `start` with `step`.
TensorId slice(Trace& trace, TensorId x, size_t axis, int64_t start, int64_t extent, int64_t step);

}  // namespace adjit::trace
