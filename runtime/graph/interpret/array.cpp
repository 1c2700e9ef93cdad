// runtime/graph/interpret/array.cpp -- the interpreter's arrays.
#include "runtime/graph/interpret/array.hpp"

#include "runtime/expr/error.hpp"
#include "runtime/expr/integer.hpp"
#include "runtime/expr/scalar.hpp"

namespace adjit::graph {
namespace {

int64_t count_of(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 0) throw Error(ErrorCode::Shape, "an extent is negative");
    if (extent == 0) return 0;
    count = checked_mul(count, extent);
  }
  return count;
}

}  // namespace

Array Array::zeros(DType dtype, std::vector<int64_t> shape) {
  const size_t bytes = static_cast<size_t>(count_of(shape)) * size_of(dtype);
  return {dtype, std::move(shape), std::vector<std::byte>(bytes)};
}

Array Array::of(DType dtype, std::vector<int64_t> shape, std::span<const double> values) {
  Array array = zeros(dtype, std::move(shape));
  if (static_cast<size_t>(array.element_count()) != values.size())
    throw Error(ErrorCode::Shape, "an array of " + std::to_string(array.element_count()) +
                                      " elements is given " + std::to_string(values.size()) +
                                      " values");
  for (size_t k = 0; k < values.size(); ++k) array.set(static_cast<int64_t>(k), values[k]);
  return array;
}

int64_t Array::element_count() const { return count_of(shape); }

double Array::at(int64_t linear) const {
  const Scalar value =
      load_element(bytes.data() + static_cast<size_t>(linear) * size_of(dtype), dtype);
  return is_float(dtype) ? value.f : static_cast<double>(value.i);
}

void Array::set(int64_t linear, double value) {
  const Scalar wide = Scalar::of_float(value);
  store_element(bytes.data() + static_cast<size_t>(linear) * size_of(dtype), dtype,
                apply(Op::Cast, DType::Float64, dtype, std::span(&wide, 1)));
}

}  // namespace adjit::graph
