// runtime/graph/verify/index_variables.hpp -- the variables that rows over a stage are written in,
// and the ranges of these.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/graph/graph.hpp"
#include "runtime/graph/verify/linear_system.hpp"

namespace adjit::graph {

/// Inclusive; absent ends are unbounded.
struct OpenInterval {
  std::optional<int64_t> low, high;
};

/// Holds any sum of a few products of int64.
__extension__ typedef __int128 WideInteger;

struct WideInterval {
  WideInteger low, high;
  bool fits() const { return low >= INT64_MIN && high <= INT64_MAX; }
};

/// A stage's axes, its divisions, then what was added.
struct IndexVariables {
  /// Rows that hold at every point: the box, the domain's rows, the meaning of divisions and of
  /// other variables.
  LinearSystem always;
  std::vector<OpenInterval> intervals;                 // per variable
  std::vector<std::pair<Division, Affine>> divisions;  // with the variable of each
};

/// Numbered as in the domain, so that its rows hold as they stand.
IndexVariables variables_of(const Domain& domain);
Affine add_variable(IndexVariables& variables, OpenInterval interval);
/// The floor of a form over a positive number: the variable of that division, added where there is
/// none.
Affine floor_of(IndexVariables& variables, const Affine& numerator, int64_t divisor);
/// Bounds of a form over the box.
OpenInterval range_of(const IndexVariables& variables, const Affine& form);
/// The same with int64's ends where a variable has none.
WideInterval wide_range_of(const IndexVariables& variables, const Affine& form);

/// The rows of both.
void append(LinearSystem& to, const LinearSystem& rows);

}  // namespace adjit::graph
