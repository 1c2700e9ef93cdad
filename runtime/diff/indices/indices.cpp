// runtime/diff/indices/indices.cpp -- indices of reads in their simplest form.
#include "runtime/diff/indices/indices.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "runtime/diff/indices/index_choices.hpp"
#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::diff {
namespace {

size_t divisions_in(const ExprPool& pool, ExprId index) {
  const ExprId roots[] = {index};
  return static_cast<size_t>(std::ranges::count_if(reachable(pool, roots), [&](ExprId id) {
    return pool.is(id, Op::FloorDiv) || pool.is(id, Op::Mod);
  }));
}

// The index as an affine form where that divides less often; else as it is.
ExprId simpler(ExprPool& pool, ExprId index, const Domain& domain) {
  const size_t divisions = divisions_in(pool, index);
  if (divisions == 0) return index;
  const std::optional<IndexForm> found = index_form(pool, index, domain);
  if (!found) return index;
  const ExprId made = to_expr(pool, found->form, found->domain);
  return divisions_in(pool, made) < divisions ? made : index;
}

// The expression with the choices that the domain decides taken, of the nodes that may be.
template <class May>
ExprId with_decided_conditions(ExprPool& pool, ExprId root, const Domain& domain, May&& may) {
  std::unordered_map<uint32_t, ExprId> now;
  for (ExprId id : reachable(pool, std::span(&root, 1))) {
    const bool changed = std::ranges::any_of(
        pool.operands(id), [&](ExprId operand) { return now.contains(operand.value); });
    ExprId kept = changed ? with_operands(pool, id, now) : id;
    Domain extended = domain;
    if (may(id))
      if (const std::optional<IndexChoice> choice = choice_of(pool, kept, extended))
        if (const std::optional<Sign> sign = known_sign(extended, *choice))
          kept = chosen(pool, kept, *sign);
    if (kept != id) now.emplace(id.value, kept);
  }
  const auto found = now.find(root.value);
  return found == now.end() ? root : found->second;
}

// A condition with simpler numbers compared; its own comparisons stay.
ExprId with_simpler_operands(ExprPool& pool, ExprId condition, const Domain& domain) {
  std::unordered_set<uint32_t> own;
  std::vector<ExprId> open{condition};
  while (!open.empty()) {
    const ExprId id = open.back();
    open.pop_back();
    own.insert(id.value);
    if (pool.is(id, Op::And) || pool.is(id, Op::Or) || pool.is(id, Op::Not))
      open.insert(open.end(), pool.operands(id).begin(), pool.operands(id).end());
  }
  return with_decided_conditions(pool, condition, domain,
                                 [&](ExprId id) { return !own.contains(id.value); });
}

void simplify_reads(ExprPool& pool, Stage& stage) {
  std::unordered_map<uint32_t, ExprId> replacements;
  for (ExprId id : reachable(pool, stage.bodies)) {
    if (!pool.is(id, Op::Read)) continue;
    const std::vector<ExprId> before(pool.read_index(id).begin(), pool.read_index(id).end());
    std::vector<ExprId> index;
    for (ExprId coordinate : before)
      index.push_back(simpler(pool, without_choices(pool, coordinate, stage.domain), stage.domain));
    // What the index has become must be what its predicate speaks of. Its comparisons stay: what
    // the domain decides of them is a matter of its rows, which may leave.
    const ExprId given = pool.read_predicate(id);
    const ExprId predicate =
        given.valid() && index != before ? with_simpler_operands(pool, given, stage.domain) : given;
    if (index != before)
      replacements.emplace(id.value,
                           pool.read(pool.read_tensor(id), pool.dtype(id), index, predicate));
  }
  if (!replacements.empty()) stage.bodies = replace_nodes(pool, stage.bodies, replacements);
}

}  // namespace

ExprId without_choices(ExprPool& pool, ExprId index, const Domain& domain) {
  return with_decided_conditions(pool, index, domain, [](ExprId) { return true; });
}

Graph simplify_indices(Graph graph) {
  for (Stage& stage : graph.stages) simplify_reads(graph.pool, stage);
  return graph;
}

}  // namespace adjit::diff
