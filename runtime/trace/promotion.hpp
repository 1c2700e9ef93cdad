// runtime/trace/promotion.hpp -- which dtypes meet: integers widen, nothing else changes silently.
#pragma once

#include <optional>

#include "runtime/expr/dtype.hpp"

namespace adjit {

/// The dtype of two operands: equal types stay; integers promote to the narrowest integer that
/// holds both (uint8 with int8 gives int16). Anything else, float32 with float64 or bool with a
/// number included, is nullopt: the user casts.
std::optional<DType> promoted(DType a, DType b);

}  // namespace adjit
