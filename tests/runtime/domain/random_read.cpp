// tests/runtime/domain/random_read.cpp -- the generator.
#include "random_read.hpp"

#include <algorithm>
#include <cstdlib>

#include "visit.hpp"

namespace adjit::domain {

int64_t environment(const char* name, int64_t otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::atoll(value) : otherwise;
}

int64_t target_cells(const Pattern& pattern) {
  int64_t cells = 1;
  for (int64_t extent : pattern.target) cells *= extent;
  return cells;
}

Pattern RandomRead::generate() {
  const int64_t axes = between(1, 4), outputs = between(0, axes);
  std::vector<int64_t> out, reduction;
  for (int64_t k = 0; k < axes; ++k)
    (k < outputs ? out : reduction).push_back(between(1, axes <= 2 ? 14 : axes == 3 ? 8 : 5));
  IndexMap map(out, reduction);
  add_terms(map);
  add_guards(map);
  Pattern pattern{"random", {}, {}};
  const int64_t rank = between(1, 3);
  for (int64_t k = 0; k < rank; ++k) map.index.push_back(combination(6));
  fit_target(map, pattern.target);
  pattern.maps.push_back(std::move(map));
  return pattern;
}

int64_t RandomRead::between(int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random_);
}

void RandomRead::add_terms(IndexMap& map) {
  for (size_t k = 0; k < map.source.rank(); ++k) terms_.push_back(map[k]);
  for (int64_t count = between(0, 3); count > 0; --count) {
    const Affine numerator = combination(3);
    const int64_t divisor = between(2, 6);
    terms_.push_back(map.floor(numerator, divisor));
    terms_.push_back(map.mod(numerator, divisor));
  }
}

void RandomRead::add_guards(IndexMap& map) {
  for (int64_t count = between(0, 2); count > 0; --count) {
    if (between(0, 2) > 0) {
      map.at_least_zero(combination(3) + between(0, 8));
    } else {
      const int64_t divisor = between(2, 4);
      map.zero(map.mod(combination(3), divisor) - between(0, divisor - 1));
    }
  }
}

Affine RandomRead::combination(int64_t largest) {
  Affine form(between(-3, 3));
  for (const Affine& term : terms_)
    if (between(0, 2) == 0) form += term * between(-largest, largest);
  return form;
}

void RandomRead::fit_target(IndexMap& map, std::vector<int64_t>& target) {
  for (Affine& index : map.index) {
    int64_t low = INT64_MAX, high = INT64_MIN;
    for_each_point(map.source.extents, [&](const Point& point) {
      const int64_t value = evaluate(index, map.source.variables_at(point));
      low = std::min(low, value);
      high = std::max(high, value);
    });
    const int64_t shift = low + (between(0, 3) == 0 ? between(0, 3) : 0);
    index += -shift;
    target.push_back(
        std::max<int64_t>(1, high - shift + 1 - (between(0, 3) == 0 ? between(0, 3) : 0)));
  }
}

}  // namespace adjit::domain
