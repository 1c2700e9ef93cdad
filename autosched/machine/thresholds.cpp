// autosched/machine/thresholds.cpp -- the table as rows, and moving it.
#include "autosched/machine/thresholds.hpp"

#include <array>
#include <cmath>
#include <type_traits>

namespace adjit::sched {
namespace {

template <class T>
double assign(T& field, double value) {
  if constexpr (std::is_integral_v<T>)
    field = static_cast<T>(std::llround(value));
  else
    field = value;
  return static_cast<double>(field);
}

constexpr std::array kRows{
#define THRESHOLD(type, name, value, unit, meaning, finding) \
  ThresholdRow{#name,                                        \
               unit,                                         \
               meaning,                                      \
               finding,                                      \
               static_cast<double>(Thresholds().name),       \
               [](Thresholds& t, double v) { return assign(t.name, v); }},
#include "autosched/machine/thresholds.def"
#undef THRESHOLD
};

}  // namespace

std::span<const ThresholdRow> threshold_rows() { return kRows; }

MovedThresholds::MovedThresholds(const Thresholds& moved) : moved_(moved) {
  detail::thresholds = &moved_;
}
MovedThresholds::~MovedThresholds() { detail::thresholds = &detail::kThresholds; }

}  // namespace adjit::sched
