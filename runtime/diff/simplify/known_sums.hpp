// runtime/diff/simplify/known_sums.hpp -- which sums of single tensors a graph computes.
//
// Where a graph has  b[j] = sum over r of g[r, j],  the sum  s[j] = sum over r of w[j] * g[r, j] is
// w[j] * b[j], and needs no pass over g.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// A sum over a box of one tensor's elements, or of these with the sign changed.
struct KnownSum {
  size_t stage = 0;  // its place in the graph
  TensorId result;
  bool negative = false;
  std::vector<std::optional<size_t>> places;  // per dimension of the result: see KnownSums::axes_of
};

class KnownSums {
 public:
  /// Linear in the graph.
  explicit KnownSums(Graph& graph);

  /// The graph's first sum of what `read` reads over the reduction axes of `domain`; null: there is
  /// none, or the domain is no box, or the read does not use all of these axes.
  const KnownSum* find(ExprPool& pool, ExprId read, const Domain& domain) const;
  /// The result axes that a read uses, ascending: a dimension of a known sum whose place is p is
  /// read at axis number p of these, one without a place at 0.
  static std::vector<size_t> axes_of(const ExprPool& pool, ExprId read, const Domain& domain);

 private:
  // The read, with the axes that it uses numbered from 0, and their extents.
  using Key = std::pair<ExprId, std::vector<int64_t>>;
  static std::optional<Key> key_of(ExprPool& pool, ExprId read, const Domain& domain);

  std::map<Key, KnownSum> sums_;
};

}  // namespace adjit::diff
