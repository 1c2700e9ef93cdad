// jit/emit/shape/narrow_coordinates.cpp -- the magnitudes up to which 32-bit indices are exact.
#include "jit/emit/shape/narrow_coordinates.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "runtime/expr/interval.hpp"

namespace adjit::emit {
namespace {

constexpr int64_t kSmall = int64_t{1} << 20;  // what may be added to kFarCoordinate
constexpr int64_t kFarthestIndex = int64_t{1} << 29;
constexpr int kHighest = 64;  // bounds the depth of the walk that emits them

int64_t magnitude(Interval r) { return std::max(r.hi, -r.lo); }

// What is known of a node's 32-bit form.
struct Narrow {
  int64_t exact = kFarCoordinate;  // up to this magnitude it is right
  int64_t most = INT64_MAX;        // magnitude that the node has at most
  int height = 0;                  // of the nodes that are computed so
};

std::optional<Narrow> narrow_form(IndexForms& forms, ExprId root) {
  const ExprPool& pool = forms.pool();
  std::unordered_map<uint32_t, std::optional<Narrow>> known;
  const ExprId roots[] = {root};
  for (ExprId id : reachable(pool, roots)) {
    const Node& node = pool[id];
    std::optional<Narrow>& here = known[id.value];
    if (node.dtype != DType::Int64 || node.op == Op::Read) continue;
    if (const std::optional<Interval> range = forms.range_of(id)) {
      if (magnitude(*range) <= kFarthestIndex) here = {kFarCoordinate, magnitude(*range), 0};
      continue;
    }
    if (node.op == Op::Cast) {
      if (is_float(pool.dtype(pool.operand(id, 0)))) here = Narrow{};
      continue;
    }
    if (node.operand_count < 2) continue;
    std::optional<Narrow> a = known.at(pool.operand(id, node.operand_count - 2u).value);
    std::optional<Narrow> b = known.at(pool.operand(id, node.operand_count - 1u).value);
    if (!a || !b) continue;
    const int height = std::max(a->height, b->height) + 1;
    if (height > kHighest) continue;
    if (node.op == Op::Min || node.op == Op::Max || node.op == Op::Select) {
      here = {std::min(a->exact, b->exact), std::max(a->most, b->most), height};
    } else if (node.op == Op::Add || node.op == Op::Sub) {
      if (a->most > b->most) std::swap(a, b);
      if (a->most > kSmall || b->exact - a->most < kFarthestIndex) continue;
      here = {b->exact - a->most, b->most == INT64_MAX ? b->most : a->most + b->most, height};
    }
  }
  return known.at(root.value);
}

}  // namespace

bool is_narrow(IndexForms& forms, ExprId coordinate) {
  if (forms.form(coordinate)) return false;
  const auto range = interval_of(forms.pool(), coordinate, forms.domain().extents);
  return range && magnitude({range->lo, range->hi}) <= kFarthestIndex &&
         narrow_form(forms, coordinate).has_value();
}

std::vector<ExprId> narrow_inputs(IndexForms& forms, ExprId coordinate) {
  const ExprPool& pool = forms.pool();
  std::vector<ExprId> inputs, open{coordinate};
  std::unordered_set<uint32_t> seen{coordinate.value};
  while (!open.empty()) {
    const ExprId node = open.back();
    open.pop_back();
    if (forms.form(node)) continue;
    const std::span<const ExprId> operands = pool.operands(node);
    const bool cast = pool.is(node, Op::Cast);
    if (cast || pool.is(node, Op::Select)) inputs.push_back(operands[0]);
    if (cast) continue;
    for (ExprId operand : operands.last(2))
      if (seen.insert(operand.value).second) open.push_back(operand);
  }
  return inputs;
}

}  // namespace adjit::emit
