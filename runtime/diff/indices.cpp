// runtime/diff/indices.cpp -- indices of reads in their simplest form.
#include "runtime/diff/indices.hpp"

#include <algorithm>
#include <unordered_map>

#include "runtime/diff/rewrite.hpp"
#include "runtime/diff/simplify.hpp"
#include "runtime/domain/bounds.hpp"

namespace adjit {
namespace {

size_t divisions_in(const ExprPool& pool, ExprId index) {
  const ExprId roots[] = {index};
  return static_cast<size_t>(std::ranges::count_if(reachable(pool, roots), [&](ExprId id) {
    return pool.is(id, Op::FloorDiv) || pool.is(id, Op::Mod);
  }));
}

// The index as an affine form where that divides less often; else as it is.
ExprId simpler(ExprPool& pool, ExprId index, Domain domain) {
  const size_t divisions = divisions_in(pool, index);
  if (divisions == 0) return index;
  const std::optional<Affine> form = as_affine(pool, index, domain);
  if (!form) return index;
  const ExprId made = to_expr(pool, *form, domain);
  return divisions_in(pool, made) < divisions ? made : index;
}

// Of two index expressions the one that is the minimum (or maximum) at every point of the domain;
// invalid where the domain does not tell.
ExprId decided(const ExprPool& pool, Op op, ExprId a, ExprId b, Domain domain) {
  const std::optional<Affine> left = as_affine(pool, a, domain), right = as_affine(pool, b, domain);
  if (!left || !right) return {};
  const bool least = op == Op::Min;
  if (implies(domain, *right - *left)) return least ? a : b;
  if (implies(domain, *left - *right)) return least ? b : a;
  return {};
}

void simplify_reads(ExprPool& pool, Stage& stage) {
  std::unordered_map<uint32_t, ExprId> replacements;
  for (ExprId id : reachable(pool, stage.bodies)) {
    if (!pool.is(id, Op::Read)) continue;
    const std::vector<ExprId> before(pool.read_index(id).begin(), pool.read_index(id).end());
    std::vector<ExprId> index;
    for (ExprId coordinate : before)
      index.push_back(simpler(pool, without_bounds(pool, coordinate, stage.domain), stage.domain));
    if (index != before)
      replacements.emplace(id.value, pool.read(pool.read_tensor(id), pool.dtype(id), index,
                                               pool.read_predicate(id)));
  }
  if (!replacements.empty()) stage.bodies = replace_nodes(pool, stage.bodies, replacements);
}

}  // namespace

ExprId without_bounds(ExprPool& pool, ExprId index, const Domain& domain) {
  const ExprId roots[] = {index};
  const std::vector<ExprId> nodes = reachable(pool, roots);
  const auto is_bound = [&](ExprId id) {
    return pool.dtype(id) == DType::Int64 && (pool.is(id, Op::Min) || pool.is(id, Op::Max));
  };
  if (std::ranges::none_of(nodes, is_bound)) return index;
  std::unordered_map<uint32_t, ExprId> now;
  for (ExprId id : nodes) {
    const ExprId made = with_operands(pool, id, now);
    ExprId kept = made;
    if (is_bound(made)) {
      const ExprId a = pool.operand(made, 0), b = pool.operand(made, 1);
      if (const ExprId known = decided(pool, pool[made].op, a, b, domain); known.valid())
        kept = known;
    }
    if (kept != id) now.emplace(id.value, kept);
  }
  const auto found = now.find(index.value);
  return found == now.end() ? index : found->second;
}

Graph simplify_indices(Graph graph) {
  for (Stage& stage : graph.stages) simplify_reads(graph.pool, stage);
  return graph;
}

}  // namespace adjit
