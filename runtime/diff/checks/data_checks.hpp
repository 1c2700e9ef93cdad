// runtime/diff/checks/data_checks.hpp -- indices that depend on data, and NaNs, checked while the
// program runs.
//
// Generated code reads 0 where an index is out of range, and writes nothing. That an index was out
// of range is found by stages of the computation itself. For y(k) = x(i(k)), x of 5 elements:
//   first() min= select(i(k) < 0 || 5 <= i(k), k, none)      over k
//   value() = i(min(first(), last k))
// over those axes only on which the index depends: a row of an embedding is checked once.
//
// Where NaNs are looked for, every stage with a float result is followed by
//   first() min= select(isnan(y(k)), k, none)              over all elements of y
// and so is every float input: a NaN that came in is told apart from one that was made.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// What is checked, for the message.
struct DataCheck {
  enum class Kind { Index, NaN, NaNInput };
  std::string subject;  // "the read x(i(k)) in stage 'y' from file.py:3 (take)"; what holds a NaN
  size_t dimension = 0;
  int64_t extent = 0;
  std::vector<std::string> axes;  // the points that are numbered, row-major, with ...
  std::vector<int64_t> extents;   // ... these extents
  Kind kind = Kind::Index;
  std::vector<size_t> loops = {};  // scans around it, outermost first, each by a number of its own;
                                   // the first axes are their steps, in the order they run
  bool operator==(const DataCheck&) const = default;
};

/// The number of the first point when every index was in range.
inline constexpr int64_t kNowhere = INT64_MAX;

struct CheckedGraph {
  Graph graph;  // outputs: those of the graph, then two scalars (int64) per check: the number of
                // the first point where it fails, and the index there (0 for a NaN)
  std::vector<DataCheck> checks;
};

/// Also for what stands in the steps of scans; a conditional one stops at the first index out of
/// range. A graph that needs no check stays as it is. `nan`: look for NaNs, too.
CheckedGraph with_data_checks(Graph graph, bool nan = false);

/// `found`: two numbers a check, as the outputs of the checked graph. Throws for the check that
/// failed first while the program ran: ErrorCode::Bounds for an index, ErrorCode::Invalid for a
/// stage that made a NaN. NaNs of inputs that no stage passes on are no failure.
void raise_failed_checks(std::span<const DataCheck> checks, std::span<const int64_t> found);

}  // namespace adjit::diff
