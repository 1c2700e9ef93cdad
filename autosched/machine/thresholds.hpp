// autosched/machine/thresholds.hpp -- the numbers by which schedules are decided, in one
// table.
//
// tests/schedules/thresholds moves each and says which schedules change. Limits of code size and of
// compile time are no thresholds: they stand where they are asked (program/limits.hpp and others).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "autosched/machine/table_row.hpp"

namespace adjit::sched {

struct Thresholds {
#define THRESHOLD(type, name, value, unit, meaning, finding) type name = value;
#include "autosched/machine/thresholds.def"
#undef THRESHOLD
};

namespace detail {
inline constexpr Thresholds kThresholds;
inline const Thresholds* thresholds = &kThresholds;
}  // namespace detail

inline const Thresholds& thresholds() { return *detail::thresholds; }

std::span<const TableRow<Thresholds>> threshold_rows();

/// Until it ends, thresholds() gives these on all threads: for what asks what a threshold decides.
/// Nothing may schedule while one begins or ends.
class MovedThresholds {
 public:
  explicit MovedThresholds(const Thresholds& moved);
  ~MovedThresholds();
  MovedThresholds(const MovedThresholds&) = delete;
  MovedThresholds& operator=(const MovedThresholds&) = delete;

 private:
  Thresholds moved_;
};

}  // namespace adjit::sched
