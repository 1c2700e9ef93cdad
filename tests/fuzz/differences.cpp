// tests/fuzz/differences.cpp -- the derivative of a function of one number, by differences.
#include "tests/fuzz/differences.hpp"
#include "tests/rooms.hpp"

#include <algorithm>
#include <cmath>

namespace adjit::testing {
namespace {

// Steps from 2^-12 down to 2^-36, each a quarter of the one before: of 64 bits of fraction, the
// last one leaves 28 bits for the difference, and the first one a series that falls by 2^-24.
constexpr int kFirst = -12, kLast = -36, kUsual = -20, kQuarter = -2;
// Where even the usual step crosses a kink a finer one may not.
constexpr int kFine = -28;
// The least of many estimates is an optimistic one.
constexpr long double kSafety = 100;
// What errs by far more than the tolerance says nothing.
constexpr long double kSettled = 1000;

}  // namespace

std::optional<Sample> Differences::at(long double step) {
  const std::optional<Sample> above = f_(step);
  if (!above) return std::nullopt;
  const std::optional<Sample> below = f_(-step);
  if (!below) return std::nullopt;
  return Sample{(above->value - below->value) / (2 * step),
                (above->rounding + below->rounding) / (2 * step)};
}

std::optional<long double> Differences::usual() {
  if (usual_) return *usual_;
  std::optional<Sample> sample = at(std::ldexp(1.0L, kUsual));
  if (!sample) sample = at(std::ldexp(1.0L, kFine));
  usual_ = sample ? std::optional(sample->value) : std::nullopt;
  return *usual_;
}

const Difference& Differences::best() {
  if (best_) return *best_;
  best_.emplace();
  // Row by row: row[j] is free of the first j terms of the series.
  std::vector<long double> before;
  for (int exponent = kFirst; exponent >= kLast; exponent += kQuarter) {
    const std::optional<Sample> difference = at(std::ldexp(1.0L, exponent));
    if (!difference) {
      before.clear();
      continue;
    }
    std::vector<long double> row{difference->value};
    long double factor = 1;
    for (size_t j = 0; j < before.size(); ++j) {
      factor *= 16;
      row.push_back((factor * row[j] - before[j]) / (factor - 1));
      const long double series =
          std::max(std::abs(row[j + 1] - row[j]), std::abs(row[j + 1] - before[j]));
      // Where it makes steps of a function, differences over one step may agree exactly. Of the
      // shorter step it counts most: the longer one has a sixteenth of its weight.
      const long double error = kSafety * series + 2 * difference->rounding;
      if (error < best_->error) *best_ = {row[j + 1], error};
    }
    before = std::move(row);
  }
  return *best_;
}

Verdict Differences::judge(long double derived, long double tolerance) {
  const std::optional<long double> first = usual();
  if (!first) return Verdict::Kink;
  if (std::abs(*first - derived) <= tolerance) return Verdict::Agrees;
  const long double error = best().error;
  if (!(error <= kSettled * tolerance)) return Verdict::Unsettled;
  return std::abs(best().value - derived) <= tolerance + error ? Verdict::Agrees : Verdict::Differs;
}

}  // namespace adjit::testing
