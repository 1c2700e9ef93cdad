// runtime/diff/rewrite/rewrite.cpp -- replacing parts of expressions.
#include "runtime/diff/rewrite/rewrite.hpp"

namespace adjit::diff {

std::vector<ExprId> substitute_axes(ExprPool& pool, std::span<const ExprId> roots,
                                    std::span<const ExprId> axes) {
  Rebuilder rebuild(pool, pool, [&](ExprId leaf, std::span<const ExprId>) {
    if (!pool.is(leaf, Op::Axis) || pool.axis_number(leaf) >= axes.size()) return ExprId{};
    return axes[pool.axis_number(leaf)];
  });
  std::vector<ExprId> results;
  for (ExprId root : roots) results.push_back(root.valid() ? rebuild(root) : root);
  return results;
}

ExprId substitute_axes(ExprPool& pool, ExprId root, std::span<const ExprId> axes) {
  return substitute_axes(pool, std::span(&root, 1), axes)[0];
}

ExprId with_operands(ExprPool& pool, ExprId id, const std::unordered_map<uint32_t, ExprId>& now) {
  std::vector<ExprId> operands;
  for (ExprId operand : pool.operands(id)) {
    const auto found = now.find(operand.value);
    operands.push_back(found == now.end() ? operand : found->second);
  }
  const Node node = pool[id];
  if (node.op == Op::Cast) return pool.cast(operands[0], node.dtype);
  if (node.op != Op::Read) return operands.empty() ? id : pool.make(node.op, operands);
  const bool guarded = pool.read_predicate(id).valid();
  return pool.read(pool.read_tensor(id), node.dtype,
                   std::span(operands).first(operands.size() - (guarded ? 1 : 0)),
                   guarded ? operands.back() : ExprId{});
}

std::vector<ExprId> replace_nodes(ExprPool& pool, std::span<const ExprId> roots,
                                  const std::unordered_map<uint32_t, ExprId>& replacements) {
  std::unordered_map<uint32_t, ExprId> done(replacements);  // only nodes that change
  for (ExprId id : reachable(pool, roots)) {
    if (done.contains(id.value)) continue;
    bool changed = false;
    for (ExprId operand : pool.operands(id)) changed = changed || done.contains(operand.value);
    if (changed) done.emplace(id.value, with_operands(pool, id, done));
  }
  std::vector<ExprId> results;
  for (ExprId root : roots) {
    const auto found = done.find(root.value);
    results.push_back(found == done.end() ? root : found->second);
  }
  return results;
}

std::vector<ExprId> axes(ExprPool& pool, size_t count) {
  std::vector<ExprId> list;
  for (size_t k = 0; k < count; ++k) list.push_back(pool.axis(k));
  return list;
}

ExprId linear_index(ExprPool& pool, const Domain& domain, size_t first, size_t count) {
  ExprId linear = pool.constant_int(0);
  for (size_t k = first; k < first + count; ++k)
    linear = pool.add(pool.mul(linear, pool.constant_int(domain.extents[k])), pool.axis(k));
  return linear;
}

}  // namespace adjit::diff
