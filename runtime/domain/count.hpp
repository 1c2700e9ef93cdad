// runtime/domain/count.hpp -- the exact number of points of a domain.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/graph/domain.hpp"

namespace adjit::domain {

/// How many points (values of the axes) the domain has.
///
/// Axes that share no row and no division are counted apart and multiplied; a box is a product; the
/// rest is enumerated with its innermost loop in closed form. `budget` bounds the enumerated outer
/// iterations: std::nullopt when it does not suffice or when the count exceeds 64 bits. Pure and
/// thread-safe.
std::optional<int64_t> count_points(const Domain& domain, int64_t budget = 1'000'000);

}  // namespace adjit::domain
