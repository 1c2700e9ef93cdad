// runtime/trace/free_axes.hpp -- which axes of index notation an expression depends on.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "runtime/trace/index_notation.hpp"

namespace adjit::trace {

/// Numbers of a notation's axes, each once.
using Axes = std::vector<uint32_t>;

bool contains(const Axes& axes, uint32_t axis);
bool disjoint(const Axes& a, const Axes& b);
bool subset(const Axes& a, const Axes& b);
void insert_all(Axes& into, const Axes& axes);

/// Axes that no reduction inside an expression folds. Refers to its notation.
class FreeAxes {
 public:
  explicit FreeAxes(const IndexNotation& notation) : n_(notation) {}

  Axes of(ExprId expr);
  const Axes& of_reduction(uint32_t reduction);

 private:
  const IndexNotation& n_;
  std::unordered_map<uint32_t, Axes> known_;  // per reduction
};

}  // namespace adjit::trace
