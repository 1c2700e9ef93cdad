// runtime/diff/checks/failed_checks.cpp -- which check failed first, and what it says.
#include <algorithm>

#include "runtime/diff/checks/data_checks.hpp"
#include "runtime/expr/error.hpp"

namespace adjit::diff {
namespace {

// The coordinates of a numbered point.
std::vector<int64_t> coordinates(const DataCheck& check, int64_t point) {
  std::vector<int64_t> at(check.extents.size());
  for (size_t k = at.size(); k-- > 0;) {
    const int64_t extent = std::max<int64_t>(check.extents[k], 1);
    at[k] = point % extent;
    point /= extent;
  }
  return at;
}

std::string place(const DataCheck& check, int64_t point) {
  const std::vector<int64_t> at = coordinates(check, point);
  std::string text;
  for (size_t k = 0; k < at.size(); ++k)
    text += (k ? ", " : " at ") + check.axes[k] + " = " + std::to_string(at[k]);
  return text;
}

// Whether `a` failed in an earlier step of the scans that both are in.
bool in_earlier_step(const DataCheck& a, int64_t point_a, const DataCheck& b, int64_t point_b) {
  const auto common = std::ranges::mismatch(a.loops, b.loops).in1 - a.loops.begin();
  const std::vector<int64_t> at = coordinates(a, point_a), bt = coordinates(b, point_b);
  return std::lexicographical_compare(at.begin(), at.begin() + common, bt.begin(),
                                      bt.begin() + common);
}

[[noreturn]] void raise_index(const DataCheck& check, int64_t point, int64_t index) {
  throw Error(ErrorCode::Bounds,
              "index " + std::to_string(index) + " of dimension " +
                  std::to_string(check.dimension) + " is out of range 0:" +
                  std::to_string(check.extent) + " in " + check.subject + place(check, point) +
                  "; guard it with select or where=, or choose a mode (clip, wrap, drop)");
}

[[noreturn]] void raise_nan(std::span<const DataCheck> checks, std::span<const int64_t> found,
                            size_t first) {
  std::string inputs;
  for (size_t k = 0; k < checks.size(); ++k)
    if (checks[k].kind == DataCheck::Kind::NaNInput && found[2 * k] != kNowhere)
      inputs += (inputs.empty() ? "; " : ", ") + checks[k].subject + " holds one" +
                place(checks[k], found[2 * k]);
  throw Error(ErrorCode::Invalid,
              "the first NaN is in the result of " + checks[first].subject +
                  place(checks[first], found[2 * first]) +
                  (inputs.empty() ? "; no input holds one: it was made there. Guard the operation "
                                    "where it is not defined (select, where=), or unset "
                                    "ADJIT_CHECK_NAN"
                                  : inputs));
}

}  // namespace

void raise_failed_checks(std::span<const DataCheck> checks, std::span<const int64_t> found) {
  const size_t none = checks.size();
  size_t first = none;
  for (size_t k = 0; k < checks.size(); ++k) {
    if (found[2 * k] == kNowhere || checks[k].kind == DataCheck::Kind::NaNInput) continue;
    if (first == none || in_earlier_step(checks[k], found[2 * k], checks[first], found[2 * first]))
      first = k;
  }
  if (first == none) return;
  if (checks[first].kind == DataCheck::Kind::Index)
    raise_index(checks[first], found[2 * first], found[2 * first + 1]);
  raise_nan(checks, found, first);
}

}  // namespace adjit::diff
