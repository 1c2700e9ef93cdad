// jit/emit/layout.hpp -- where a tensor's elements lie.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/process/rooms.hpp"

namespace adjit::emit {

/// Element (i0, i1, ...) lies at pointer + sum_d i_d * strides[d] elements; strides may be negative
/// or 0 (inputs). Strides are part of the code: an executable serves one layout.
struct TensorLayout {
  std::vector<int64_t> strides;
  /// Bytes that divide the address of element 0, part of the code as well; 0: those of an element.
  int64_t alignment = 0;
  bool operator==(const TensorLayout&) const = default;
};

/// Row-major without gaps.
inline TensorLayout contiguous_layout(std::span<const int64_t> shape) {
  TensorLayout layout{std::vector<int64_t>(shape.size(), 1)};
  for (size_t d = shape.size(); d-- > 1;)
    layout.strides[d - 1] = layout.strides[d] * (shape[d] > 0 ? shape[d] : 1);
  return layout;
}

}  // namespace adjit::emit
