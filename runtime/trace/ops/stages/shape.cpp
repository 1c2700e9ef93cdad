// runtime/trace/ops/stages/shape.cpp -- broadcasting and axes.
#include "runtime/trace/ops/stages/shape.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "runtime/expr/error.hpp"
#include "runtime/expr/integer.hpp"
#include "runtime/trace/trace.hpp"

namespace adjit::trace {

Shape broadcast(std::span<const int64_t> a, std::span<const int64_t> b) {
  Shape result(std::max(a.size(), b.size()));
  for (size_t k = 0; k < result.size(); ++k) {  // counted from the end
    const int64_t x = k < a.size() ? a[a.size() - 1 - k] : 1;
    const int64_t y = k < b.size() ? b[b.size() - 1 - k] : 1;
    if (x != y && x != 1 && y != 1)
      throw Error(ErrorCode::Shape, "shapes " + to_string(a) + " and " + to_string(b) +
                                        " do not broadcast: the extents " + std::to_string(x) +
                                        " and " + std::to_string(y) +
                                        " must be equal or 1; reshape or expand_dims one of them");
    result[result.size() - 1 - k] = x == 1 ? y : x;
  }
  return result;
}

size_t normalized_axis(int64_t axis, size_t rank, std::string_view parameter) {
  const int64_t r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r)
    throw Error(ErrorCode::Invalid, std::string(parameter) + "=" + std::to_string(axis) +
                                        " is out of range for a tensor of rank " +
                                        std::to_string(rank));
  return static_cast<size_t>(axis < 0 ? axis + r : axis);
}

std::vector<size_t> normalized_axes(std::span<const int64_t> axes, size_t rank,
                                    std::string_view parameter) {
  std::vector<size_t> result;
  for (int64_t axis : axes) {
    const size_t k = normalized_axis(axis, rank, parameter);
    if (std::ranges::find(result, k) != result.end())
      throw Error(ErrorCode::Invalid,
                  std::string(parameter) + " names dimension " + std::to_string(k) + " twice");
    result.push_back(k);
  }
  return result;
}

int64_t element_count(std::span<const int64_t> shape) {
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  int64_t count = 1;
  for (int64_t extent : shape) count = checked_mul(count, extent);
  return count;
}

Shape row_major_strides(std::span<const int64_t> shape) {
  Shape strides(shape.size(), 1);
  for (size_t k = shape.size(); k-- > 1;) strides[k - 1] = checked_mul(strides[k], shape[k]);
  return strides;
}

int64_t extent_of(double count, std::string_view what) {
  if (!(count >= 0 && count < 0x1p63))
    throw Error(ErrorCode::Shape, std::string(what) + " asks for " + std::to_string(count) +
                                      " elements, which is no extent");
  return static_cast<int64_t>(count);
}

std::vector<size_t> all_axes(size_t rank) {
  std::vector<size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), size_t{0});
  return axes;
}

}  // namespace adjit::trace
