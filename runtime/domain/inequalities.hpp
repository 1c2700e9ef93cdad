// runtime/domain/inequalities.hpp -- Fourier-Motzkin elimination over the integers, on dense rows.
//
// A row (a_0, ..., a_{n-1}, c) holds where a . x + c >= 0; all rows of a set have the same length.
// Every row is divided by the gcd of its coefficients with the constant rounded down (integer
// tightening). Results are necessary conditions on the remaining columns, and exact where an
// elimination says so. Checked arithmetic: functions throw Overflow unless they say otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/domain/bounds.hpp"
#include "runtime/expr/affine.hpp"
#include "runtime/graph/domain.hpp"

namespace adjit::domain {

using Row = std::vector<int64_t>;
using Rows = std::vector<Row>;

/// Rows past which an elimination gives up: bounded work instead of doubly exponential growth.
inline constexpr size_t kRowCap = 200;

Row to_row(const Affine& form, size_t columns);
Affine to_affine(const Row& row);
/// The row that holds exactly where `row` does not: -row - 1 >= 0.
Row negation(Row row);

/// Box and division rows of a domain: true at each of its points whatever its rows. Columns: its
/// variables.
Rows context_rows(const Domain& domain);
/// context_rows and the domain's rows (an equality as two rows).
Rows domain_rows(const Domain& domain);

/// Tightens every row, drops trivial ones and all but the tightest of parallel rows, in a canonical
/// order. False when a row can never hold.
bool simplify(Rows& rows);

enum class Elimination {
  Exact,          // the integer projection
  Inexact,        // an outer approximation of it
  Contradiction,  // no integer point
  OverBudget,     // more than the cap of rows; the rows are unchanged
};

/// Eliminates one column: combines every lower bound with every upper bound.
Elimination eliminate(Rows& rows, size_t column, size_t row_cap = kRowCap);
/// Eliminates several columns, cheapest first. OverBudget may leave some of them.
Elimination eliminate_all(Rows& rows, std::vector<size_t> columns, size_t row_cap = kRowCap);
/// The column whose elimination is least inexact, then adds fewest rows. `columns` is not empty.
size_t cheapest_column(const Rows& rows, std::span<const size_t> columns);

/// The rows that hang together with `seed` through columns below `connecting_columns`.
Rows component(const Rows& rows, const Row& seed, size_t connecting_columns);
/// The columns below `limit` that some row uses, ascending.
std::vector<size_t> used_columns(const Rows& rows, size_t limit);

/// Whether the rows have no integer point, provably. Never throws Overflow: that is "not proven".
bool contradictory(Rows rows, size_t row_cap = kRowCap);
/// Whether `rows` imply `row`, provably. Never throws Overflow.
bool implied(const Rows& rows, const Row& row, size_t row_cap = kRowCap);
/// `range` cut to the values that `form` takes where the rows hold; empty where they contradict
/// each other.
Interval narrowed_interval(Rows rows, const Affine& form, Interval range);

}  // namespace adjit::domain
