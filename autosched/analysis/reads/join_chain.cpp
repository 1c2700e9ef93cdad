// autosched/analysis/reads/join_chain.cpp -- conditions and parts of chains.
#include "autosched/analysis/reads/join_chain.hpp"
#include "autosched/machine/thresholds.hpp"

#include <algorithm>
#include <span>
#include <unordered_set>

namespace adjit::sched {
namespace {

bool is_index(const ExprPool& pool, ExprId id) {
  const ExprId roots[] = {id};
  return std::ranges::none_of(reachable(pool, roots),
                              [&](ExprId node) { return pool.is(node, Op::Read); });
}

bool is_part(const ExprPool& pool, ExprId part) {
  const ExprId read = read_of_part(pool, part);
  return pool.is(read, Op::Read) &&
         std::ranges::all_of(pool.read_index(read), [&](ExprId id) { return is_index(pool, id); });
}

// position < end, or position > end.
struct Condition {
  ExprId position;
  int64_t end;
  bool falling;
};

std::optional<Condition> condition_of(const ExprPool& pool, ExprId id) {
  if (!pool.is(id, Op::Lt)) return {};
  const ExprId left = pool.operand(id, 0), right = pool.operand(id, 1);
  if (pool.dtype(left) != DType::Int64) return {};
  if (const auto end = pool.int_value(right)) return Condition{left, *end, false};
  if (const auto end = pool.int_value(left)) return Condition{right, *end, true};
  return {};
}

}  // namespace

ExprId read_of_part(const ExprPool& pool, ExprId part) {
  return pool.is(part, Op::Cast) ? pool.operand(part, 0) : part;
}

std::optional<JoinChain> join_chain(const ExprPool& pool, ExprId root) {
  JoinChain chain;
  ExprId rest = root;
  for (; pool.is(rest, Op::Select); rest = pool.operand(rest, 2)) {
    const std::optional<Condition> condition = condition_of(pool, pool.operand(rest, 0));
    if (!condition) return {};
    if (chain.ends.empty()) {
      chain.position = condition->position;
      chain.falling = condition->falling;
    }
    if (condition->position != chain.position || condition->falling != chain.falling) return {};
    chain.ends.push_back(condition->end);
    chain.parts.push_back(pool.operand(rest, 1));
  }
  chain.parts.push_back(rest);
  if (chain.parts.size() < thresholds().join_parts || !is_index(pool, chain.position)) return {};
  const DType dtype = pool.dtype(read_of_part(pool, chain.parts[0]));
  for (ExprId part : chain.parts)
    if (!is_part(pool, part) || pool.dtype(read_of_part(pool, part)) != dtype) return {};
  return chain;
}

std::vector<TensorId> joined_tensors(const Graph& graph, const Stage& stage) {
  const ExprPool& pool = graph.pool;
  std::vector<TensorId> tensors;
  const std::vector<ExprId> nodes = reachable(pool, stage.bodies);
  std::unordered_set<uint32_t> inner;  // selects that go on with a chain
  for (size_t k = nodes.size(); k-- > 0;) {
    if (!pool.is(nodes[k], Op::Select)) continue;
    if (const ExprId rest = pool.operand(nodes[k], 2); pool.is(rest, Op::Select))
      inner.insert(rest.value);
    if (inner.contains(nodes[k].value)) continue;
    if (const std::optional<JoinChain> chain = join_chain(pool, nodes[k]))
      for (ExprId part : chain->parts)
        tensors.push_back(pool.read_tensor(read_of_part(pool, part)));
  }
  std::ranges::sort(tensors, {}, &TensorId::value);
  const auto repeated = std::ranges::unique(tensors);
  tensors.erase(repeated.begin(), repeated.end());
  return tensors;
}

}  // namespace adjit::sched
