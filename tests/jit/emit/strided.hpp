// tests/jit/emit/strided.hpp -- elements of tensors that lie at any strides.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "jit/emit/layout.hpp"
#include "runtime/graph/interpret/interpreter.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// Bytes before element 0, and in all.
struct Extent {
  int64_t before = 0, bytes = 0;
};
inline Extent extent_of(const TensorInfo& info, const TensorLayout& layout) {
  int64_t low = 0, high = 0;
  for (size_t d = 0; d < info.shape.size(); ++d) {
    const int64_t reach = (std::max<int64_t>(info.shape[d], 1) - 1) * layout.strides[d];
    (reach < 0 ? low : high) += reach;
  }
  const auto size = static_cast<int64_t>(size_of(info.dtype));
  const bool empty = std::ranges::find(info.shape, 0) != info.shape.end();
  return {-low * size, empty ? 0 : (high - low + 1) * size};
}

/// Calls visit(offset of the element in the row-major array, its address).
template <class Visit>
void each_element(const Array& array, const TensorLayout& layout, std::byte* first, Visit&& visit) {
  const size_t size = size_of(array.dtype);
  std::vector<int64_t> index(array.shape.size(), 0);
  for (int64_t k = 0; k < array.element_count(); ++k) {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d) at += index[d] * layout.strides[d];
    visit(static_cast<size_t>(k) * size, first + at * static_cast<int64_t>(size));
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < array.shape[d]) break;
      index[d] = 0;
    }
  }
}

/// An array's elements to where a tensor lies, and back.
inline void put(const Array& array, const TensorLayout& layout, std::byte* first) {
  each_element(array, layout, first, [&](size_t offset, std::byte* at) {
    std::memcpy(at, array.bytes.data() + offset, size_of(array.dtype));
  });
}
inline Array taken(const TensorInfo& info, const TensorLayout& layout, std::byte* first) {
  Array array = Array::zeros(info.dtype, info.shape);
  each_element(array, layout, first, [&](size_t offset, const std::byte* at) {
    std::memcpy(array.bytes.data() + offset, at, size_of(array.dtype));
  });
  return array;
}

}  // namespace adjit::testing
