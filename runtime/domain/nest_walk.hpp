// runtime/domain/nest_walk.hpp -- walking a nest of loop bounds to count its points and its idle
// iterations.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/domain/bounds.hpp"
#include "runtime/domain/loops.hpp"

namespace adjit::domain {

struct NestCount {
  int64_t points = 0;
  int64_t idle = 0;      // iterations of any loop that reached no point
  bool complete = true;  // false when the budget ran out
};

/// Walks `nest` with the axes outside it at the values `axes` gives them. An innermost loop without
/// guards is counted in closed form. At most `budget` iterations are walked; subtracts what it
/// used.
NestCount walk_nest(const Domain& domain, const LoopNestBounds& nest, std::span<const int64_t> axes,
                    int64_t& budget);

}  // namespace adjit::domain
