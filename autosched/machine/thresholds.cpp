// autosched/machine/thresholds.cpp -- the table as rows, and moving it.
#include "autosched/machine/thresholds.hpp"

#include <array>

namespace adjit::sched {
namespace {

constexpr std::array kRows{
#define THRESHOLD(type, name, value, unit, meaning, finding) \
  ADJIT_TABLE_ROW(Thresholds, name, unit, meaning, finding),
#include "autosched/machine/thresholds.def"
#undef THRESHOLD
};

}  // namespace

std::span<const TableRow<Thresholds>> threshold_rows() { return kRows; }

MovedThresholds::MovedThresholds(const Thresholds& moved) : moved_(moved) {
  detail::thresholds = &moved_;
}
MovedThresholds::~MovedThresholds() { detail::thresholds = &detail::kThresholds; }

}  // namespace adjit::sched
