// runtime/graph/path_conditions.cpp -- under which conditions each node of an expression is
// evaluated.
#include "runtime/graph/path_conditions.hpp"

#include <algorithm>
#include <optional>
#include <unordered_set>

namespace adjit {
namespace {

constexpr size_t kMaxWays = 8;
constexpr size_t kMaxConditions = 64;

using Ways = std::vector<PathCondition>;  // each sorted

bool implies(const PathCondition& strong, const PathCondition& weak) {
  return std::ranges::includes(strong, weak);
}

void add_way(Ways& ways, const PathCondition& way) {
  for (const PathCondition& known : ways)
    if (implies(way, known)) return;
  std::erase_if(ways, [&](const PathCondition& known) { return implies(known, way); });
  ways.push_back(way);
  if (ways.size() <= kMaxWays) return;
  PathCondition common = ways[0];
  for (const PathCondition& other : ways) {
    PathCondition both;
    std::ranges::set_intersection(common, other, std::back_inserter(both));
    common = std::move(both);
  }
  ways = {common};
}

PathCondition extended(const PathCondition& way, ExprId condition, bool value) {
  PathCondition longer = way;
  const std::pair<ExprId, bool> literal{condition, value};
  const auto at = std::ranges::lower_bound(longer, literal);
  if (at != longer.end() && *at == literal) return longer;
  if (longer.size() < kMaxConditions) longer.insert(at, literal);
  return longer;
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

}  // namespace

std::unordered_map<uint32_t, std::vector<PathCondition>> path_conditions(
    const ExprPool& pool, std::span<const ExprId> roots) {
  const std::vector<ExprId> nodes = reachable(pool, roots);
  std::unordered_set<uint32_t> reads;  // nodes with a read in or below them
  for (ExprId id : nodes) {
    const bool below = std::ranges::any_of(
        pool.operands(id), [&](ExprId operand) { return reads.contains(operand.value); });
    if (below || pool.is(id, Op::Read)) reads.insert(id.value);
  }
  std::unordered_map<uint32_t, Ways> ways;
  for (ExprId root : roots) ways[root.value] = {{}};
  // Parents have larger ids than their operands: downwards every way to a node is known when it is
  // met.
  for (size_t n = nodes.size(); n-- > 0;) {
    const ExprId id = nodes[n];
    if (!reads.contains(id.value)) continue;
    const Ways here = ways.at(id.value);
    const std::span<const ExprId> operands = pool.operands(id);
    for (size_t k = 0; k < operands.size(); ++k) {
      if (!reads.contains(operands[k].value)) continue;
      const auto needed = needed_for(pool, id, k);
      for (const PathCondition& way : here)
        add_way(ways[operands[k].value],
                needed ? extended(way, needed->first, needed->second) : way);
    }
    if (!pool.is(id, Op::Read)) ways.erase(id.value);
  }
  std::erase_if(ways, [&](const auto& entry) { return !pool.is(ExprId{entry.first}, Op::Read); });
  return ways;
}

}  // namespace adjit
