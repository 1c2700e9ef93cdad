// adjit/array.hpp -- element types, views of the caller's memory, arrays of our own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "error.hpp"

namespace adjit::inline cpp {

enum class DType : int {
  Bool = ADJIT_BOOL,
  UInt8 = ADJIT_UINT8,
  Int8 = ADJIT_INT8,
  Int16 = ADJIT_INT16,
  Int32 = ADJIT_INT32,
  Int64 = ADJIT_INT64,
  Float16 = ADJIT_FLOAT16,
  BFloat16 = ADJIT_BFLOAT16,
  Float32 = ADJIT_FLOAT32,
  Float64 = ADJIT_FLOAT64
};

namespace detail {

struct DTypeRow {
  const char* name;
  uint8_t code, bits;
};
// By number of the dtype. 6 is DLPack's code of bool, which older headers of it lack.
inline constexpr DTypeRow kDTypes[] = {{"bool", 6, 8},
                                       {"uint8", kDLUInt, 8},
                                       {"int8", kDLInt, 8},
                                       {"int16", kDLInt, 16},
                                       {"int32", kDLInt, 32},
                                       {"int64", kDLInt, 64},
                                       {"float16", kDLFloat, 16},
                                       {"bfloat16", kDLBfloat, 16},
                                       {"float32", kDLFloat, 32},
                                       {"float64", kDLFloat, 64}};

inline const DTypeRow& row_of(DType dtype) {
  const auto number = static_cast<size_t>(dtype);
  if (number >= std::size(kDTypes))
    throw DTypeError(std::to_string(number) + " is not the number of a dtype");
  return kDTypes[number];
}

template <class T>
inline constexpr bool kUnknownElement = false;

}  // namespace detail

/// "float32"
inline std::string name_of(DType dtype) { return detail::row_of(dtype).name; }
/// Bytes of an element.
inline size_t size_of(DType dtype) { return detail::row_of(dtype).bits / 8u; }

/// The dtype of a C++ type. float16 and bfloat16 have none: pass their DType beside the address.
template <class T>
constexpr DType dtype_of() {
  using E = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<E, bool>)
    return DType::Bool;
  else if constexpr (std::is_same_v<E, float>)
    return DType::Float32;
  else if constexpr (std::is_same_v<E, double>)
    return DType::Float64;
  else if constexpr (std::is_integral_v<E> && sizeof(E) == 1)
    return std::is_signed_v<E> ? DType::Int8 : DType::UInt8;
  else if constexpr (std::is_integral_v<E> && std::is_signed_v<E> && sizeof(E) == 2)
    return DType::Int16;
  else if constexpr (std::is_integral_v<E> && std::is_signed_v<E> && sizeof(E) == 4)
    return DType::Int32;
  else if constexpr (std::is_integral_v<E> && std::is_signed_v<E> && sizeof(E) == 8)
    return DType::Int64;
  else
    static_assert(detail::kUnknownElement<E>, "adjit has no dtype for this element type");
}

/// Extents, or strides in elements.
using Shape = std::vector<int64_t>;

/// "(2, 3)"
inline std::string text_of(const Shape& shape) {
  std::string text = "(";
  for (size_t d = 0; d < shape.size(); ++d) text += (d ? ", " : "") + std::to_string(shape[d]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

/// Number of elements; ShapeError for a negative extent or a product beyond int64.
inline int64_t count_of(const Shape& shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count))
      throw ShapeError(text_of(shape) + " is not the shape of an array");
  return count;
}

/// A borrowed array that is only read: address of element 0, dtype, shape, strides in elements
/// (none: row-major; zero and negative ones are fine). Whoever makes it keeps the memory alive.
class ConstView {
 public:
  ConstView(const void* data, DType dtype, Shape shape, Shape strides = {})
      : data_(const_cast<void*>(data)),
        dtype_(dtype),
        shape_(std::move(shape)),
        strides_(std::move(strides)) {
    static_cast<void>(count_of(shape_));
    if (!strides_.empty() && strides_.size() != shape_.size())
      throw ShapeError("an array of shape " + text_of(shape_) + " has strides " +
                       text_of(strides_) + "; give one a dimension, or none for row-major");
  }
  template <class T>
    requires(std::is_arithmetic_v<T>)
  ConstView(const T* data, Shape shape, Shape strides = {})
      : ConstView(data, dtype_of<T>(), std::move(shape), std::move(strides)) {}
  /// Of a vector, std::array or span; ShapeError when elements would lie outside it.
  template <std::ranges::contiguous_range R>
    requires(std::ranges::borrowed_range<R>)
  ConstView(R&& memory, Shape shape, Shape strides = {})
      : ConstView(std::ranges::data(memory), std::move(shape), std::move(strides)) {
    require_inside(std::ranges::size(memory));
  }
  /// What a DLTensor describes; its shape and strides are copied, its memory is borrowed.
  /// DTypeError for an element type that adjit lacks, DeviceError for memory that is not the CPU's.
  explicit ConstView(const DLTensor& tensor)
      : ConstView(static_cast<const char*>(tensor.data) + tensor.byte_offset, dtype_from(tensor),
                  Shape(tensor.shape, tensor.shape + tensor.ndim),
                  tensor.strides == nullptr ? Shape()
                                            : Shape(tensor.strides, tensor.strides + tensor.ndim)) {
    if (tensor.device.device_type != kDLCPU)
      throw DeviceError("an array lies on a device (DLPack type " +
                        std::to_string(static_cast<int>(tensor.device.device_type)) +
                        "), not in CPU memory");
  }

  const void* data() const { return data_; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  /// Empty for row-major.
  const Shape& strides() const { return strides_; }
  /// The view as the C interface takes it; valid as long as this view is neither moved nor gone.
  DLTensor tensor() const {
    const detail::DTypeRow& row = detail::row_of(dtype_);
    return {data_,
            {kDLCPU, 0},
            static_cast<int>(shape_.size()),
            {row.code, row.bits, 1},
            const_cast<int64_t*>(shape_.data()),
            strides_.empty() ? nullptr : const_cast<int64_t*>(strides_.data()),
            0};
  }

 protected:
  void* address() const { return data_; }

 private:
  static DType dtype_from(const DLTensor& tensor) {
    for (size_t k = 0; k < std::size(detail::kDTypes); ++k) {
      const detail::DTypeRow& row = detail::kDTypes[k];
      if (tensor.dtype.lanes == 1 && tensor.dtype.code == row.code && tensor.dtype.bits == row.bits)
        return static_cast<DType>(k);
    }
    throw DTypeError("an array has DLPack type {code " + std::to_string(tensor.dtype.code) +
                     ", bits " + std::to_string(tensor.dtype.bits) + ", lanes " +
                     std::to_string(tensor.dtype.lanes) + "}, which adjit does not have");
  }

  void require_inside(size_t elements) const {
    int64_t low = 0, high = 0, row_major = 1;
    for (size_t d = shape_.size(); d-- > 0;) {
      if (shape_[d] == 0) return;
      const int64_t stride = strides_.empty() ? row_major : strides_[d];
      (stride < 0 ? low : high) += stride * (shape_[d] - 1);
      row_major *= shape_[d];
    }
    if (low < 0 || high >= static_cast<int64_t>(elements))
      throw ShapeError("shape " + text_of(shape_) +
                       (strides_.empty() ? "" : " with strides " + text_of(strides_)) +
                       " reaches from element " + std::to_string(low) + " to element " +
                       std::to_string(high) + " of memory that has " + std::to_string(elements) +
                       " elements");
  }

  void* data_;
  DType dtype_;
  Shape shape_, strides_;
};

/// A borrowed array that results are written to. Executables want it row-major.
class View : public ConstView {
 public:
  View(void* data, DType dtype, Shape shape, Shape strides = {})
      : ConstView(data, dtype, std::move(shape), std::move(strides)) {}
  template <class T>
    requires(std::is_arithmetic_v<T> && !std::is_const_v<T>)
  View(T* data, Shape shape, Shape strides = {})
      : ConstView(data, std::move(shape), std::move(strides)) {}
  template <std::ranges::contiguous_range R>
    requires(std::ranges::borrowed_range<R> &&
             !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>)
  View(R&& memory, Shape shape, Shape strides = {})
      : ConstView(memory, std::move(shape), std::move(strides)) {}
  explicit View(const DLTensor& tensor) : ConstView(tensor) {}

  void* data() const { return address(); }
};

/// A row-major array that owns its memory (64-byte aligned, zero at first). Moves, does not copy.
class Array {
 public:
  Array(DType dtype, Shape shape)
      : dtype_(dtype),
        shape_(std::move(shape)),
        count_(count_of(shape_)),
        data_(allocate(static_cast<size_t>(count_) * size_of(dtype))) {}
  /// With these elements, row by row; ShapeError when they are not as many as the shape says.
  template <class T>
  static Array of(Shape shape, std::span<const T> elements) {
    Array array(dtype_of<T>(), std::move(shape));
    if (elements.size() != static_cast<size_t>(array.count_))
      throw ShapeError(std::to_string(elements.size()) +
                       " elements do not make an array of shape " + text_of(array.shape_));
    if (!elements.empty()) std::memcpy(array.data_.get(), elements.data(), elements.size_bytes());
    return array;
  }
  template <class T>
  static Array of(Shape shape, std::initializer_list<T> elements) {
    return of(std::move(shape), std::span<const T>(elements.begin(), elements.size()));
  }

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  void* data() { return data_.get(); }
  const void* data() const { return data_.get(); }

  /// The elements, row by row; DTypeError when T is not their type.
  template <class T>
  std::span<T> elements() {
    require<T>();
    return {static_cast<T*>(data()), static_cast<size_t>(count_)};
  }
  template <class T>
  std::span<const T> elements() const {
    require<T>();
    return {static_cast<const T*>(data()), static_cast<size_t>(count_)};
  }
  /// The only element; ShapeError when there are several.
  template <class T>
  T item() const {
    if (count_ != 1)
      throw ShapeError("an array of shape " + text_of(shape_) + " has no single element");
    return elements<T>()[0];
  }

  operator ConstView() const { return {data(), dtype_, shape_}; }  // NOLINT: as a vector to a span
  operator View() { return {data(), dtype_, shape_}; }             // NOLINT

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
  };

  static std::unique_ptr<std::byte, Free> allocate(size_t bytes) {
    auto* memory = static_cast<std::byte*>(::operator new(bytes ? bytes : 1, kAlignment));
    std::memset(memory, 0, bytes);
    return std::unique_ptr<std::byte, Free>(memory);
  }
  template <class T>
  void require() const {
    if (dtype_of<T>() != dtype_)
      throw DTypeError("an array of " + name_of(dtype_) + " is read as " + name_of(dtype_of<T>()));
  }

  DType dtype_;
  Shape shape_;
  int64_t count_;
  std::unique_ptr<std::byte, Free> data_;
};

}  // namespace adjit::inline cpp
