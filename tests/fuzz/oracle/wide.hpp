// tests/fuzz/oracle/wide.hpp -- numbers in higher precision that carry a bound on the error which
// the same computation makes in its own types.
//
// The value is what the operations mean without rounding (long double, 64 bits of fraction); the
// error bounds how far a computation that rounds after each operation, in any order of its sums,
// may lie from it (running error analysis: Higham, Accuracy and Stability of Numerical Algorithms,
// section 3.3). So a comparison of results needs no tolerance chosen by hand: an ill-conditioned
// element has a large error, and a decision that rounding could turn makes what depends on it
// unsure.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "runtime/expr/dtype.hpp"
#include "runtime/expr/op.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// A value of some dtype, which travels beside it: floats in `f`, others in `i`. `error` bounds a
/// float's absolute error; that of an integer or a bool is 0, or infinite where rounding may decide
/// it otherwise.
struct Wide {
  long double f = 0;
  int64_t i = 0;
  long double error = 0;

  static constexpr long double kUnknown = std::numeric_limits<long double>::infinity();
  static Wide of_int(int64_t value) { return {0, value, 0}; }
  static Wide of_float(long double value, long double error = 0) { return {value, 0, error}; }
  bool sure() const { return error == 0; }
};

/// The decisions of a run, one after the other, as one number: comparisons, integers made of
/// floats, winners of maxima. Two runs with the same number computed the same piece of a piecewise
/// smooth function.
class Decisions {
 public:
  void add(int64_t outcome) {
    number_ = (number_ ^ static_cast<uint64_t>(outcome)) * 0x9e3779b97f4a7c15ull;
    number_ ^= number_ >> 29;
  }
  uint64_t number() const { return number_; }
  void forget() { number_ = 1; }

  /// From here on rounding decides nothing: what comes of a decision is as sure as its operands.
  /// For runs that are compared by their decisions, whose values need bounds on their own rounding.
  void take_as_sure() { sure_ = true; }
  /// Whether one is, of which this is known.
  bool is_sure(bool known) const { return known || sure_; }

 private:
  uint64_t number_ = 1;
  bool sure_ = false;
};

/// The rounding error of one operation of that float type: half a unit in the last place of 1.
long double unit_of(DType dtype);

/// Applies an operation (runtime/expr/op.hpp), all but leaves, Select, And and Or, which do not
/// evaluate all of their operands. Dtypes as for apply() in runtime/expr/scalar.hpp.
Wide apply_wide(Op op, DType operand, DType result, std::span<const Wide> values,
                Decisions& decisions);

}  // namespace adjit::testing
