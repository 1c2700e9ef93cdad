// runtime/graph/parse/ranges.hpp -- index ranges that a statement leaves open, as Tensor
// Comprehensions infers them.
//
// Every unguarded read T(..., e, ...) asks for 0 <= e < extent. Rounds: in each, every index whose
// range is open and which stands alone (all others of that e have ranges) in some affine e gets the
// largest range that keeps those e in bounds whatever the other indices are; the ranges found
// become known for the next round. Example, a convolution
//   B(i) +=! A(i + k) * W(k):  round 1: k in 0:W.0;  round 2: i in 0:A.0 - W.0 + 1.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/graph/parse/symbol_table.hpp"

namespace adjit::graph {

struct IndexRange {
  int64_t from = 0, to = 0;  // `to` is not included
};

/// Fills the open entries of `ranges` (one per index). `names` gives the form of every index
/// (variable k for index k) and of every let; `roots` are the expressions whose reads count.
/// Entries that stay open are unresolvable. The first `left_count` indices stand on the left-hand
/// side and cannot be negative.
void infer_ranges(const SymbolTable& scope, const AffineReader::Names& names,
                  std::span<const SyntaxId> roots, size_t left_count,
                  std::vector<std::optional<IndexRange>>& ranges);

}  // namespace adjit::graph
