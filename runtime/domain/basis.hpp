// runtime/domain/basis.hpp -- the free axes of a fibre: a canonical basis of the solutions of its
// equations.
//
// Once no equality is left, the free columns are an arbitrary basis of the solution lattice. This
// step makes them readable and dense: greedily, the window 0 <= form <= w (an axis's box, or
// opposite rows such as a band) that leaves fewest values becomes a column, form = g * t +
// remainder, with 0 <= t <= w / g. A window of one value makes its column a quotient of the others.
// Columns that only source divisions use are projected out where that is exact and become quotients
// where not.
#pragma once

#include "runtime/domain/candidates.hpp"
#include "runtime/domain/fibre_system.hpp"

namespace adjit::domain {

/// Changes the free columns of a system without equalities to the canonical basis; fills home,
/// ranges and quotients.
void choose_basis(FibreSystem& system, const Domain& source, const BasisChoice& choice);

}  // namespace adjit::domain
