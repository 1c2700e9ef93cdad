// runtime/domain/fibre_system.hpp -- the working state of the fibre solver: a system over columns
// and parameters.
//
// Variables 0..columns-1 are integer unknowns ("columns"): at first the source's axes and
// divisions, later whatever re-parametrises the solutions. Variables columns, columns+1, ... are
// parameters: j, then derived floors of affine forms in parameters. `axes` and `divisions` always
// give the source's variables in terms of the current ones, so that a change of columns never loses
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/domain/bounds.hpp"
#include "runtime/graph/domain.hpp"

namespace adjit::domain {

/// A form that is known to stay in 0 <= form <= width.
struct Window {
  Affine form;
  int64_t width = 0;
  std::optional<size_t> axis;  // the source axis that the form is, up to a constant
};

/// column = floor(numerator / divisor), with a numerator over other columns: a column with one
/// value.
struct Quotient {
  size_t column = 0;
  Affine numerator;
  int64_t divisor = 1;
};

struct FibreSystem {
  size_t columns = 0;
  Domain parameters;                    // axes j; divisions: the derived floors; no rows
  std::vector<char> free;               // per column: neither eliminated nor a quotient
  std::vector<int64_t> extents;         // per column: how many values it takes at first
  std::vector<Affine> equalities;       // == 0
  std::vector<Affine> inequalities;     // >= 0
  std::vector<Affine> axes, divisions;  // the source's variables
  std::vector<Affine> guards;           // == 0, over parameters only
  std::vector<Window> windows;          // candidates for free axes (basis.hpp)
  std::vector<Quotient> quotients;      // numerators use free columns and earlier quotients
  std::vector<size_t> home;      // per free column of the basis: the source axis it stems from
  std::vector<Interval> ranges;  // per column of the basis: its values, loosely

  /// The equations index(source point) = j over the source's box, divisions and rows.
  FibreSystem(const Domain& source, std::span<const Affine> index,
              std::span<const int64_t> target_shape);

  std::vector<size_t> free_columns() const;
  /// gcd of the coefficients of the columns, 0 when there is none.
  int64_t column_gcd(const Affine& form) const;
  bool uses_columns(const Affine& form) const { return column_gcd(form) != 0; }

  /// column := form, everywhere; the form does not use the column. The column is then eliminated.
  void eliminate_column(size_t column, const Affine& form);
  /// Another basis: old column = (negate ? -1 : 1) * new column - shift; `shift` does not use the
  /// column.
  void change_column(size_t column, const Affine& shift, bool negate = false);

  /// floor(form / divisor) as an affine form: constant quotients are taken out, and the rest is a
  /// constant where its interval says so, else a derived parameter. `form` is over parameters.
  Affine floor_of(const Affine& form, int64_t divisor);
  /// Values of a form over parameters.
  Interval parameter_interval(const Affine& form) const;
  /// A form over parameters alone, in the variables of the domain `parameters`.
  Affine to_parameters(const Affine& form) const;

  /// Normalises inequalities, merges parallel ones; false when one can never hold.
  bool tidy_inequalities();

 private:
  template <class Function>
  void for_each_form(Function&& apply);
};

/// form == divisor * quotient + remainder; the remainder's coefficients are nearest to zero, in
/// (-divisor / 2, divisor / 2], its constant is in [0, divisor).
struct DividedForm {
  Affine quotient, remainder;
};
DividedForm divide(const Affine& form, int64_t divisor);
/// How much there is to read in `divide(form, divisor)`: of two forms for one value, the lighter
/// one is taken.
int64_t division_weight(const Affine& form, int64_t divisor);

/// The part of a form over variables below `limit`, without constant.
Affine leading_part(const Affine& form, size_t limit);
/// form / divisor where divisor divides every coefficient and the constant.
Affine exact_quotient(const Affine& form, int64_t divisor);

/// Whether the coefficients of the two forms are each other's negatives.
bool opposite(const Affine& a, const Affine& b);

}  // namespace adjit::domain
