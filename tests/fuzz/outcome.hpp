// tests/fuzz/outcome.hpp -- what a call came to, and whether two calls came to the same kind of
// numbers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/expr/error.hpp"
#include "runtime/graph/interpret/interpreter.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// Results, or the index out of range that was told in their place.
struct Outcome {
  std::vector<Array> results;
  std::optional<std::string> out_of_range;
};

/// Other errors are thrown.
Outcome outcome(const std::function<std::vector<Array>()>& call);

/// "" where each float of one is NaN, infinite or neither as that of the other is, or both calls
/// told of an index; else the first that is not.
std::string first_other_kind(const Outcome& wanted, const Outcome& found);

}  // namespace adjit::testing
