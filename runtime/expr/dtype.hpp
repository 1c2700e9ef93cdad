// runtime/expr/dtype.hpp -- element types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/process/rooms.hpp"

namespace adjit::expr {

/// Element types. The numeric values are part of the C API and of cache keys: append only.
enum class DType : uint8_t {
  Bool = 0,
  UInt8 = 1,
  Int8 = 2,
  Int16 = 3,
  Int32 = 4,
  Int64 = 5,
  Float16 = 6,
  BFloat16 = 7,
  Float32 = 8,
  Float64 = 9,
};
inline constexpr int kDTypeCount = 10;

/// Bytes of one element (Bool is one byte, 0 or 1).
size_t size_of(DType dtype);
/// NumPy's name: "bool", "uint8", "int32", "bfloat16", "float32", ...
std::string_view name_of(DType dtype);
/// The text notation's name (Tensor Comprehensions' where it has one): "float" is float32, "double"
/// float64, else name_of.
std::string_view text_name_of(DType dtype);
/// Accepts both kinds of names.
std::optional<DType> dtype_from_name(std::string_view name);

constexpr bool is_float(DType t) { return t >= DType::Float16; }
constexpr bool is_integer(DType t) { return t >= DType::UInt8 && t <= DType::Int64; }
/// float16 and bfloat16 accumulate and compute in float32; every other type in itself.
constexpr DType accumulator_of(DType t) {
  return (t == DType::Float16 || t == DType::BFloat16) ? DType::Float32 : t;
}

}  // namespace adjit::expr
