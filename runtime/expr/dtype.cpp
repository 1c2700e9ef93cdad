// runtime/expr/dtype.cpp -- element types: sizes and names.
#include "runtime/expr/dtype.hpp"

#include <array>

namespace adjit::expr {
namespace {

struct Properties {
  std::string_view name;
  std::string_view text;
  size_t size;
};
constexpr std::array<Properties, kDTypeCount> kRows{{
    {"bool", "bool", 1},
    {"uint8", "uint8", 1},
    {"int8", "int8", 1},
    {"int16", "int16", 2},
    {"int32", "int32", 4},
    {"int64", "int64", 8},
    {"float16", "float16", 2},
    {"bfloat16", "bfloat16", 2},
    {"float32", "float", 4},
    {"float64", "double", 8},
}};

const Properties& row(DType dtype) { return kRows[static_cast<size_t>(dtype)]; }

}  // namespace

size_t size_of(DType dtype) { return row(dtype).size; }
std::string_view name_of(DType dtype) { return row(dtype).name; }
std::string_view text_name_of(DType dtype) { return row(dtype).text; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const Properties& r = kRows[static_cast<size_t>(i)];
    if (name == r.name || name == r.text) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace adjit::expr
