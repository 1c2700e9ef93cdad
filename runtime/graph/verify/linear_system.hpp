// runtime/graph/verify/linear_system.hpp -- proving that no integer point satisfies a conjunction
// of affine rows.
//
// Enough for bounds of reads: equalities are eliminated, then variables one by one (Fourier and
// Motzkin), rows being tightened to integers on the way. The full solver for fibres is
// runtime/domain.
#pragma once

#include <vector>

#include "runtime/expr/affine.hpp"

namespace adjit::graph {

struct LinearSystem {
  std::vector<Affine> inequalities;  // >= 0
  std::vector<Affine> equalities;    // == 0
};

/// True only when the system certainly has no integer solution; false when it has one, or when the
/// proof grows past a few hundred rows or past 64 bits.
bool is_certainly_empty(LinearSystem system);

}  // namespace adjit::graph
