// runtime/trace/promotion.cpp -- the integer lattice.
#include "runtime/trace/promotion.hpp"

#include <algorithm>

namespace adjit {

std::optional<DType> promoted(DType a, DType b) {
  if (a == b) return a;
  if (!is_integer(a) || !is_integer(b)) return std::nullopt;
  if (a == DType::UInt8 || b == DType::UInt8) return std::max({a, b, DType::Int16});
  return std::max(a, b);  // the signed types are numbered by width
}

}  // namespace adjit
