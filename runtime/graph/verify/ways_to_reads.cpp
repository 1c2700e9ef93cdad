// runtime/graph/verify/ways_to_reads.cpp -- one walk from the roots down to the reads.
#include "runtime/graph/verify/ways_to_reads.hpp"

#include <algorithm>
#include <optional>
#include <unordered_set>

namespace adjit::graph {
namespace {

constexpr size_t kMaxWays = 8;
constexpr size_t kMaxConditions = 64;

bool implies(const Way& strong, const Way& weak) { return std::ranges::includes(strong, weak); }

// Conditions are sorted.
void add_way(WaysToRead& read, const Way& way) {
  std::vector<Way>& ways = read.ways;
  for (const Way& known : ways)
    if (implies(way, known)) return;
  std::erase_if(ways, [&](const Way& known) { return implies(known, way); });
  ways.push_back(way);
  if (ways.size() <= kMaxWays) return;
  Way common = ways[0];
  for (const Way& other : ways) {
    Way both;
    std::ranges::set_intersection(common, other, std::back_inserter(both));
    common = std::move(both);
  }
  ways = {common};
  read.exact = false;
}

// Adds the way, longer by a condition.
void add_longer(WaysToRead& read, const Way& way, ExprId condition, bool value) {
  Way longer = way;
  const std::pair<ExprId, bool> literal{condition, value};
  const auto at = std::ranges::lower_bound(longer, literal);
  const bool known = at != longer.end() && *at == literal;
  if (!known && longer.size() < kMaxConditions)
    longer.insert(at, literal);
  else if (!known)
    read.exact = false;
  add_way(read, longer);
}

// Under which condition a node evaluates its operand k; nullopt: always.
std::optional<std::pair<ExprId, bool>> needed_for(const ExprPool& pool, ExprId id, size_t k) {
  const std::span<const ExprId> operands = pool.operands(id);
  switch (pool[id].op) {
    case Op::Select:
      if (k > 0) return std::pair(operands[0], k == 1);
      return std::nullopt;
    case Op::And:
    case Op::Or:
      if (k > 0) return std::pair(operands[0], pool.is(id, Op::And));
      return std::nullopt;
    case Op::Read:
      if (const ExprId predicate = pool.read_predicate(id);
          predicate.valid() && k + 1 < operands.size())
        return std::pair(predicate, true);
      return std::nullopt;
    default: return std::nullopt;
  }
}

// Nodes with a read that counts in or below them.
template <class Counts>
std::unordered_set<uint32_t> above_reads(const ExprPool& pool, std::span<const ExprId> nodes,
                                         Counts&& counts) {
  std::unordered_set<uint32_t> above;
  for (ExprId id : nodes) {
    const bool below = std::ranges::any_of(
        pool.operands(id), [&](ExprId operand) { return above.contains(operand.value); });
    if (below || (pool.is(id, Op::Read) && counts(id))) above.insert(id.value);
  }
  return above;
}

}  // namespace

std::unordered_map<uint32_t, WaysToRead> ways_to_reads(const ExprPool& pool,
                                                       std::span<const ExprId> roots) {
  const std::vector<ExprId> nodes = reachable(pool, roots);
  const std::unordered_set<uint32_t> reads = above_reads(pool, nodes, [](ExprId) { return true; });
  std::unordered_map<uint32_t, WaysToRead> all;
  for (ExprId root : roots) all[root.value] = {{{}}, true};
  // Parents have larger ids than their operands: downwards every way to a node is known when it is
  // met.
  for (size_t n = nodes.size(); n-- > 0;) {
    const ExprId id = nodes[n];
    if (!reads.contains(id.value)) continue;
    const WaysToRead here = all.at(id.value);
    const std::span<const ExprId> operands = pool.operands(id);
    for (size_t k = 0; k < operands.size(); ++k) {
      if (!reads.contains(operands[k].value)) continue;
      const auto needed = needed_for(pool, id, k);
      WaysToRead& there = all[operands[k].value];
      there.exact = there.exact && here.exact;
      for (const Way& way : here.ways) {
        if (needed)
          add_longer(there, way, needed->first, needed->second);
        else
          add_way(there, way);
      }
    }
    if (!pool.is(id, Op::Read)) all.erase(id.value);
  }
  std::erase_if(all, [&](const auto& entry) { return !pool.is(ExprId{entry.first}, Op::Read); });
  return all;
}

ExprId evaluated_where(ExprPool& pool, std::span<const ExprId> roots, ExprId read) {
  const std::vector<ExprId> nodes = reachable(pool, roots);
  const std::unordered_set<uint32_t> above =
      above_reads(pool, nodes, [&](ExprId id) { return id == read; });
  const ExprId always = pool.constant_int(1, DType::Bool);
  std::unordered_map<uint32_t, ExprId> where;
  for (ExprId root : roots) where[root.value] = always;
  for (size_t n = nodes.size(); n-- > 0;) {
    const ExprId id = nodes[n];
    if (id == read || !above.contains(id.value)) continue;
    const ExprId here = where.at(id.value);
    const std::vector<ExprId> operands(pool.operands(id).begin(), pool.operands(id).end());
    for (size_t k = 0; k < operands.size(); ++k) {
      if (!above.contains(operands[k].value)) continue;
      ExprId there = here;
      if (const auto needed = needed_for(pool, id, k))
        there = pool.logical_and(
            here, needed->second ? needed->first : pool.make(Op::Not, {needed->first}));
      const auto [known, added] = where.try_emplace(operands[k].value, there);
      if (!added) known->second = pool.make(Op::Or, {known->second, there});
    }
  }
  return where.at(read.value);
}

}  // namespace adjit::graph
