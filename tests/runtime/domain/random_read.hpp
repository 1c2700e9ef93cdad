// tests/runtime/domain/random_read.hpp -- random quasi-affine reads for the fuzzing tests.
#pragma once

#include <random>

#include "patterns.hpp"

namespace adjit::domain {

/// An integer environment variable, or `otherwise` where it is not set.
int64_t environment(const char* name, int64_t otherwise);

/// One read with one to four axes, up to three divisions and two guards, and a target of rank one
/// to three that mostly covers its index. The same seed gives the same read.
class RandomRead {
 public:
  explicit RandomRead(uint64_t seed) : random_(seed) {}
  Pattern generate();

 private:
  int64_t between(int64_t low, int64_t high);
  /// Axes, and up to three of their quotients with remainders.
  void add_terms(IndexMap& map);
  void add_guards(IndexMap& map);
  Affine combination(int64_t largest);
  /// Shifts the index to start near 0 and picks a target that mostly covers it.
  void fit_target(IndexMap& map, std::vector<int64_t>& target);

  std::mt19937_64 random_;
  std::vector<Affine> terms_;
};

/// Elements of a pattern's target.
int64_t target_cells(const Pattern& pattern);

}  // namespace adjit::domain
