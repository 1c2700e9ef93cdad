// tests/runtime/diff/index_values.hpp -- index expressions at points, by brute force.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/graph/graph.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// The value of an integer or bool expression of axes at a point.
int64_t value_at(const ExprPool& pool, ExprId expr, std::span<const int64_t> point);

/// Calls `visit` at every point of a domain.
void for_each_point(const Domain& domain,
                    const std::function<void(const std::vector<int64_t>&)>& visit);

}  // namespace adjit::testing
