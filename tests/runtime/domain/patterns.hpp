// tests/runtime/domain/patterns.hpp -- index maps that real programs contain, in three sizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/graph/domain.hpp"

namespace adjit::domain {

inline Affine operator+(Affine a, int64_t c) { return a += c; }
inline Affine operator-(Affine a, int64_t c) { return a += -c; }
inline Affine operator+(int64_t c, Affine a) { return a += c; }
inline Affine operator-(int64_t c, const Affine& a) { return Affine(c) - a; }

/// One read X[index] over a source domain, written with // and %.
class IndexMap {
 public:
  IndexMap(std::vector<int64_t> outputs, std::vector<int64_t> reductions);

  Affine operator[](size_t axis) const { return Affine::variable(axis); }
  Affine floor(const Affine& numerator, int64_t divisor);
  Affine mod(const Affine& numerator, int64_t divisor);
  void at_least_zero(const Affine& row) { source.inequalities.push_back(row); }
  void zero(const Affine& row) { source.equalities.push_back(row); }
  /// 0 <= form < extent
  void within(const Affine& form, int64_t extent);

  Domain source;
  std::vector<Affine> index;
};

/// A read of one tensor: one map, or several with disjoint domains (reflection has one per border).
struct Pattern {
  std::string name;
  std::vector<int64_t> target;
  std::vector<IndexMap> maps;
  double allowed_waste = 0.0;  // empty outer iterations per point that are allowed
};

enum class Size {
  Small,
  Medium,
  Large
};  // brute force; brute force, odd sizes; timing and counting

std::vector<Pattern> convolution_patterns(Size size);
std::vector<Pattern> layout_patterns(Size size);
std::vector<Pattern> guard_patterns(Size size);
std::vector<Pattern> all_patterns(Size size);

/// `small`, 2 * small + 1 or `large`.
int64_t pick(Size size, int64_t small, int64_t large);

/// A pattern of one read.
inline Pattern one(const std::string& name, std::vector<int64_t> target, IndexMap map,
                   double allowed_waste = 0) {
  return {name, std::move(target), {std::move(map)}, allowed_waste};
}

}  // namespace adjit::domain
