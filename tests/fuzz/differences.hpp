// tests/fuzz/differences.hpp -- the derivative of a function of one number, by differences that
// know what they may be wrong by.
//
// Central differences err by a series in the square of the step (times derivatives of the function,
// which may be huge) and by rounding over the step. So no step suits all functions: extrapolation
// over several of them takes the series away, and how far the extrapolations lie apart says what is
// left besides rounding (Ridders, Accurate computation of F'(x) and F'(x)F''(x), Advances in
// Engineering Software 4(2), 1982).
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "tests/rooms.hpp"

namespace adjit::testing {

/// A function's value, and what rounding may have changed of it.
struct Sample {
  Sample(long double v, long double r = 0)  // NOLINT(google-explicit-constructor)
      : value(v), rounding(r) {}
  long double value, rounding;
};

/// A derivative, and a bound on its error.
struct Difference {
  long double value = std::numeric_limits<long double>::quiet_NaN();
  long double error = std::numeric_limits<long double>::infinity();
};

enum class Verdict {
  Agrees,
  Differs,
  Kink,       // the function has no derivative here
  Unsettled,  // no differences come close to each other
};

class Differences {
 public:
  /// `f(t)`: the function at t beside 0; nothing where t lies on another piece of it.
  using Function = std::function<std::optional<Sample>(long double)>;
  explicit Differences(Function f) : f_(std::move(f)) {}

  /// Whether the derivative at 0 is `derived`, but for `tolerance`. A usual step comes first: the
  /// other ones are taken where it says no.
  Verdict judge(long double derived, long double tolerance);
  /// The best of all steps.
  const Difference& best();

 private:
  std::optional<Sample> at(long double step);
  std::optional<long double> usual();

  Function f_;
  std::optional<std::optional<long double>> usual_;
  std::optional<Difference> best_;
};

}  // namespace adjit::testing
