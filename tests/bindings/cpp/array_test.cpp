// tests/bindings/cpp/array_test.cpp -- dtypes, views of the caller's memory, arrays.
#include <array>

#include "tests/bindings/cpp/support.hpp"

namespace adjit_test {
namespace {

using adjit::Array;
using adjit::ConstView;
using adjit::DType;
using adjit::Shape;
using adjit::View;

static_assert(adjit::dtype_of<const float>() == DType::Float32);
static_assert(adjit::dtype_of<long>() == DType::Int64);
static_assert(adjit::dtype_of<long long>() == DType::Int64);
static_assert(adjit::dtype_of<unsigned char>() == DType::UInt8);
static_assert(!std::is_convertible_v<const float*, View>);
static_assert(!std::is_constructible_v<View, const std::vector<float>&, Shape>);
static_assert(!std::is_constructible_v<ConstView, std::vector<float>, Shape>);  // would dangle
static_assert(!std::is_copy_constructible_v<Array> && std::is_move_constructible_v<Array>);

TEST(Views, DescribeMemoryAsDLTensors) {
  const std::vector<int32_t> data{1, 2, 3, 4, 5, 6};
  const ConstView view(data, {2, 3});
  const DLTensor tensor = view.tensor();
  EXPECT_EQ(tensor.data, data.data());
  EXPECT_EQ(tensor.ndim, 2);
  EXPECT_EQ(tensor.shape[1], 3);
  EXPECT_EQ(tensor.strides, nullptr);
  EXPECT_EQ(tensor.dtype.code, kDLInt);
  EXPECT_EQ(tensor.dtype.bits, 32);
  EXPECT_EQ(tensor.dtype.lanes, 1);
  EXPECT_EQ(tensor.device.device_type, kDLCPU);
}

TEST(Views, TakeAnyStridesInsideTheirMemory) {
  std::vector<float> data(12);
  EXPECT_EQ(ConstView(data, {4, 3}, {1, 4}).strides(), (Shape{1, 4}));
  EXPECT_EQ(View(std::span(data), {0, 99}).shape(), (Shape{0, 99}));
  EXPECT_ERROR(ConstView(data, {4, 4}), adjit::ShapeError, "12 elements");
  EXPECT_ERROR(ConstView(data, {4, 3}, {4, 1}), adjit::ShapeError, "element 14");
  EXPECT_ERROR(ConstView(data, {3}, {-1}), adjit::ShapeError, "element -2");
  EXPECT_ERROR(ConstView(data, {3, 4}, {1}), adjit::ShapeError, "one a dimension");
  EXPECT_ERROR(ConstView(data.data(), {3, -4}), adjit::ShapeError, "(3, -4)");
  EXPECT_ERROR(ConstView(data.data(), {INT64_MAX, 2}), adjit::ShapeError, "shape of an array");
  EXPECT_EQ(ConstView(data.data() + 2, {3}, {-1}).data(), &data[2]);  // the caller knows better
}

TEST(Views, ComeFromDLTensors) {
  std::array<double, 6> data{};
  int64_t shape[] = {2, 2}, strides[] = {3, 1};
  DLTensor tensor{data.data(), {kDLCPU, 0}, 2, {kDLFloat, 64, 1}, shape, strides, 8};
  const View view(tensor);
  EXPECT_EQ(view.data(), &data[1]);
  EXPECT_EQ(view.dtype(), DType::Float64);
  EXPECT_EQ(view.strides(), (Shape{3, 1}));
  tensor.dtype.code = kDLComplex;
  EXPECT_ERROR(ConstView{tensor}, adjit::DTypeError, "code 5");
  tensor.dtype.code = kDLFloat;
  tensor.device.device_type = kDLCUDA;
  EXPECT_ERROR(ConstView{tensor}, adjit::DeviceError, "device");
}

TEST(Arrays, OwnAlignedMemoryThatIsZeroAtFirst) {
  Array array(DType::Float32, {3, 5});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(array.data()) % 64, 0u);
  for (float element : array.elements<float>()) EXPECT_EQ(element, 0);
  void* const memory = array.data();
  const Array moved = std::move(array);
  EXPECT_EQ(moved.data(), memory);
  EXPECT_EQ(moved.shape(), (Shape{3, 5}));
  EXPECT_EQ(Array(DType::Int8, {0, 4}).elements<signed char>().size(), 0u);
}

TEST(Arrays, CheckTypeAndCount) {
  const Array array = Array::of<int64_t>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(array.elements<int64_t>()[3], 4);
  EXPECT_ERROR(array.elements<double>(), adjit::DTypeError, "int64 is read as float64");
  EXPECT_ERROR(array.item<int64_t>(), adjit::ShapeError, "(2, 2)");
  EXPECT_ERROR(Array::of<int64_t>({3}, {1, 2}), adjit::ShapeError, "2 elements");
  EXPECT_EQ(Array::of<bool>({}, {true}).item<bool>(), true);
}

TEST(DTypes, HaveTheNamesAndSizesOfTheLibrary) {
  for (int k = 0; k <= ADJIT_FLOAT64; ++k) {
    const auto dtype = static_cast<DType>(k);
    adjit::Trace t;
    const adjit::Tensor x = t.input("x", dtype, {2});
    EXPECT_NE(
        t.finish({x}).text().find(adjit::name_of(dtype) == "float32"   ? "float"
                                  : adjit::name_of(dtype) == "float64" ? "double"
                                                                       : adjit::name_of(dtype)),
        std::string::npos);
    EXPECT_EQ(Array(dtype, {4}).dtype(), dtype);
  }
  EXPECT_EQ(adjit::size_of(DType::BFloat16), 2u);
  EXPECT_ERROR(adjit::name_of(static_cast<DType>(99)), adjit::DTypeError, "99");
}

}  // namespace
}  // namespace adjit_test
