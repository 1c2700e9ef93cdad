// tests/fuzz/outcome.cpp -- what a call came to.
#include "tests/fuzz/outcome.hpp"

#include <cmath>

namespace adjit::testing {
namespace {

bool is_of_one_kind(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return true;
}

}  // namespace

Outcome outcome(const std::function<std::vector<Array>()>& call) {
  Outcome made;
  try {
    made.results = call();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Bounds) throw;
    made.out_of_range = error.what();
  }
  return made;
}

std::string first_other_kind(const Outcome& wanted, const Outcome& found) {
  if (wanted.out_of_range || found.out_of_range) {
    if (wanted.out_of_range.has_value() == found.out_of_range.has_value()) return {};
    return wanted.out_of_range ? "nothing is said of: " + *wanted.out_of_range
                               : *found.out_of_range;
  }
  for (size_t k = 0; k < wanted.results.size(); ++k) {
    const Array &a = wanted.results[k], &b = found.results[k];
    for (int64_t e = 0; is_float(a.dtype) && e < a.element_count(); ++e)
      if (!is_of_one_kind(a.at(e), b.at(e)))
        return "result " + std::to_string(k) + ", element " + std::to_string(e) + ": " +
               std::to_string(b.at(e)) + " instead of " + std::to_string(a.at(e));
  }
  return {};
}

}  // namespace adjit::testing
