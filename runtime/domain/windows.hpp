// runtime/domain/windows.hpp -- inequalities that are equalities in disguise.
#pragma once

#include "runtime/domain/fibre_system.hpp"

namespace adjit::domain {

enum class WindowSearch {
  None,   // no further window
  Found,  // the system has a new equality (or the rows that make one): solve again
  Empty,  // opposite rows exclude each other: no solution
};

/// Looks for two opposite rows 0 <= g * (a . t) + e(parameters) <= w with w < g. They leave one
/// value of a . t: adds the equality a . t = -floor(e / g).
WindowSearch find_window(FibreSystem& system);

/// The same in the rows projected on one free column at a time; adds the two rows it finds.
WindowSearch find_projected_window(FibreSystem& system);

}  // namespace adjit::domain
