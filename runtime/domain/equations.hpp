// runtime/domain/equations.hpp -- solving linear equations over the integers, exactly.
#pragma once

#include "runtime/domain/fibre_system.hpp"

namespace adjit::domain {

/// Eliminates every equality of the system: columns are substituted or changed; conditions on
/// parameters alone become guards, and quotients of parameters derived floors. False when there is
/// no solution.
bool solve_equations(FibreSystem& system);

}  // namespace adjit::domain
