// runtime/domain/candidates.hpp -- the windows that may become free axes of a fibre, and which
// comes first.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/domain/fibre_system.hpp"

namespace adjit::domain {

/// What a basis prefers, where the default wastes outer iterations.
struct BasisChoice {
  /// Source axes that are to survive, first to last; others follow by fewest values. Empty: all by
  /// that.
  std::vector<size_t> survivors;
  /// Whether values and remainders of source divisions may become free axes, as if they were axes
  /// themselves.
  bool division_windows = false;
};

/// Fills system.windows: pairs of opposite rows that use columns.
void collect_windows(FibreSystem& system, const BasisChoice& choice);

/// The window to settle next among those that use `columns` and none of `quotient_columns`: one
/// value first, then by choice.survivors, then fewest values, then axes before other windows, then
/// later axes (reduction axes come last) before earlier ones.
std::optional<size_t> next_window(const FibreSystem& system, std::span<const size_t> columns,
                                  std::span<const size_t> quotient_columns,
                                  const BasisChoice& choice);

/// gcd of the form's coefficients of these columns.
int64_t gcd_over(const Affine& form, std::span<const size_t> columns);

}  // namespace adjit::domain
