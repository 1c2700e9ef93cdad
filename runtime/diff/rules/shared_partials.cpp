// runtime/diff/rules/shared_partials.cpp -- finding and cutting what accesses share.
#include "runtime/diff/rules/shared_partials.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "runtime/diff/rewrite/rewrite.hpp"

namespace adjit::diff {
namespace {

constexpr size_t kMostCuts = 8;  // components of the tuple stage

int cost_of(const ExprPool& pool, ExprId id) {
  const Node& node = pool[id];
  if (node.op == Op::Read) return 1;
  if (!is_float(node.dtype) || node.operand_count == 0) return 0;
  if (node.op == Op::Div || node.op == Op::Sqrt || node.op == Op::Rsqrt || node.op == Op::Hypot)
    return 4;
  if (node.op >= Op::Exp && node.op <= Op::Digamma) return 10;
  return node.op == Op::Pow || node.op == Op::Atan2 || node.op == Op::Polygamma ? 10 : 1;
}

// Cost of the distinct nodes below and at `root`, counted until `enough`; -1 when a read below is
// not in `allowed`.
int bounded_cost(const ExprPool& pool, ExprId root, int enough,
                 const std::unordered_set<uint32_t>& allowed) {
  std::vector<ExprId> stack{root};
  std::unordered_set<uint32_t> seen;
  int cost = 0;
  while (!stack.empty()) {
    const ExprId id = stack.back();
    stack.pop_back();
    if (!seen.insert(id.value).second) continue;
    if (pool.is(id, Op::Read) && !allowed.contains(id.value)) return -1;
    cost += cost_of(pool, id);
    for (ExprId operand : pool.operands(id)) stack.push_back(operand);
  }
  return std::min(cost, enough);
}

// Nodes that at least two accesses use, and that some access (or a node of one access only) uses
// directly.
std::vector<ExprId> frontier(const ExprPool& pool, std::span<const ExprId> values) {
  constexpr uint32_t kShared = UINT32_MAX;
  std::unordered_map<uint32_t, uint32_t> owner;
  std::unordered_set<uint32_t> used_directly;
  const auto use = [&](ExprId id, uint32_t by) {
    const auto [at, fresh] = owner.try_emplace(id.value, by);
    if (!fresh && at->second != by) at->second = kShared;
    if (by != kShared) used_directly.insert(id.value);
  };
  for (uint32_t k = 0; k < values.size(); ++k) use(values[k], k);
  const std::vector<ExprId> nodes = reachable(pool, values);
  for (size_t at = nodes.size(); at-- > 0;)
    for (ExprId operand : pool.operands(nodes[at])) use(operand, owner.at(nodes[at].value));
  std::vector<ExprId> found;
  for (ExprId id : nodes)
    if (owner.at(id.value) == kShared && used_directly.contains(id.value)) found.push_back(id);
  return found;
}

}  // namespace

void share_partials(Graph& graph, const Domain& domain, std::span<const ExprId> unconditional,
                    const std::vector<SourceLine>& lines, std::vector<Access>& accesses) {
  if (domain.reduction_rank() != 0 || accesses.size() < 2) return;
  std::vector<ExprId> values;
  for (const Access& access : accesses) values.push_back(access.value);
  std::unordered_set<uint32_t> allowed;
  for (ExprId id : unconditional) allowed.insert(id.value);
  const int saved_uses = static_cast<int>(std::min<size_t>(accesses.size() - 1, kCutWork));
  const int least = std::max(kCutCost, (kCutWork + saved_uses - 1) / saved_uses);
  std::vector<ExprId> cuts;
  for (ExprId id : frontier(graph.pool, values))
    if (is_float(graph.pool.dtype(id)) && !graph.pool.is(id, Op::Read) && cuts.size() < kMostCuts &&
        bounded_cost(graph.pool, id, least, allowed) >= least)
      cuts.push_back(id);
  if (cuts.empty()) return;
  const std::vector<TensorId> shared =
      add_compute(graph, "partial", domain, Combiner{}, cuts, lines);
  const std::vector<ExprId> point = axes(graph.pool, domain.output_rank);
  std::unordered_map<uint32_t, ExprId> replacements;
  for (size_t k = 0; k < cuts.size(); ++k)
    replacements.emplace(cuts[k].value, read(graph, shared[k], point));
  values = replace_nodes(graph.pool, values, replacements);
  for (size_t k = 0; k < accesses.size(); ++k) accesses[k].value = values[k];
}

}  // namespace adjit::diff
