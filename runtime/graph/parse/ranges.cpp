// runtime/graph/parse/ranges.cpp -- Tensor Comprehensions' range inference.
#include "runtime/graph/parse/ranges.hpp"

#include <algorithm>
#include <limits>

namespace adjit::graph {
namespace {

// 0 <= form < extent must hold.
struct Access {
  Affine form;
  int64_t extent = 0;
};

using Ranges = std::vector<std::optional<IndexRange>>;

std::vector<Access> accesses(const SymbolTable& scope, const AffineReader::Names& names,
                             std::span<const SyntaxId> roots) {
  std::vector<Access> found;
  for (SyntaxId root : roots) {
    AffineReader reader(scope, names, nullptr);
    reader(root);
    for (SyntaxId id = scope.node(root).subtree; id <= root; ++id) {
      const SyntaxNode& node = scope.node(id);
      const auto tensor = scope.tensors.find(node.text);
      if (node.kind != SyntaxKind::Call || tensor == scope.tensors.end()) continue;
      const std::vector<int64_t>& shape = scope.graph->info(tensor->second).shape;
      for (size_t d = 0; d < std::min<size_t>(shape.size(), node.child_count); ++d)
        if (const auto& form = reader.form(scope.syntax->child(id, d)))
          found.push_back({*form, shape[d]});
    }
  }
  return found;
}

// The only open index of a form, or nothing.
std::optional<size_t> open_index(const Affine& form, const Ranges& ranges) {
  std::optional<size_t> open;
  for (size_t k = 0; k < form.size(); ++k) {
    if (form.coefficient(k) == 0 || ranges[k]) continue;
    if (open) return std::nullopt;
    open = k;
  }
  return open;
}

// The values of index k that keep an access in bounds for every value of the others.
IndexRange allowed(const Access& access, size_t k, const Ranges& ranges) {
  int64_t low = access.form.constant(), high = low;  // of the form without index k
  for (size_t other = 0; other < access.form.size(); ++other) {
    const int64_t c = access.form.coefficient(other);
    if (other == k || c == 0) continue;
    const int64_t first = ranges[other]->from,
                  last = std::max(first, checked_sub(ranges[other]->to, 1));
    low = checked_add(low, checked_mul(c, c > 0 ? first : last));
    high = checked_add(high, checked_mul(c, c > 0 ? last : first));
  }
  const int64_t c = access.form.coefficient(k);
  const int64_t least = checked_sub(0, low), most = checked_sub(access.extent - 1, high);
  if (c > 0) return {ceil_div(least, c), checked_add(floor_div(most, c), 1)};
  return {ceil_div(most, c), checked_add(floor_div(least, c), 1)};
}

}  // namespace

void infer_ranges(const SymbolTable& scope, const AffineReader::Names& names,
                  std::span<const SyntaxId> roots, size_t left_count,
                  std::vector<std::optional<IndexRange>>& ranges) {
  if (std::ranges::all_of(ranges, [](const auto& r) { return r.has_value(); })) return;
  const std::vector<Access> all = accesses(scope, names, roots);
  for (bool progress = true; progress;) {
    Ranges found(ranges.size());
    for (const Access& access : all) {
      const std::optional<size_t> k = open_index(access.form, ranges);
      if (!k) continue;
      const IndexRange range = allowed(access, *k, ranges);
      if (!found[*k])
        found[*k] =
            IndexRange{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
      found[*k]->from = std::max(found[*k]->from, range.from);
      found[*k]->to = std::min(found[*k]->to, range.to);
    }
    progress = false;
    for (size_t k = 0; k < ranges.size(); ++k) {
      if (!found[k]) continue;
      if (k < left_count) found[k]->from = std::max<int64_t>(found[k]->from, 0);
      ranges[k] = found[k];
      progress = true;
    }
  }
}

}  // namespace adjit::graph
