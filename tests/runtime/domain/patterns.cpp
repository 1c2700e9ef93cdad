// tests/runtime/domain/patterns.cpp -- the builder of index maps.
#include "patterns.hpp"

namespace adjit::domain {

IndexMap::IndexMap(std::vector<int64_t> outputs, std::vector<int64_t> reductions) {
  source.extents = std::move(outputs);
  source.output_rank = source.extents.size();
  source.extents.insert(source.extents.end(), reductions.begin(), reductions.end());
}

Affine IndexMap::floor(const Affine& numerator, int64_t divisor) {
  if (divisor == 1) return numerator;
  return Affine::variable(source.add_division(numerator, divisor));
}

Affine IndexMap::mod(const Affine& numerator, int64_t divisor) {
  return numerator - floor(numerator, divisor) * divisor;
}

void IndexMap::within(const Affine& form, int64_t extent) {
  at_least_zero(form);
  at_least_zero(extent - 1 - form);
}

int64_t pick(Size size, int64_t small, int64_t large) {
  return size == Size::Small ? small : size == Size::Medium ? 2 * small + 1 : large;
}

std::vector<Pattern> all_patterns(Size size) {
  std::vector<Pattern> all = convolution_patterns(size);
  for (auto* family : {&layout_patterns, &guard_patterns}) {
    std::vector<Pattern> more = (*family)(size);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace adjit::domain
