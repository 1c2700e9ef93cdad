// runtime/diff/conditions/condition.cpp -- path conditions and sums of guarded values.
#include "runtime/diff/conditions/condition.hpp"

#include <algorithm>

namespace adjit::diff {
namespace {

// !(a < b) || !(b < a) always holds (NaN included): the two sides of a max or min.
bool excludes_nothing(const ExprPool& pool, ExprId a, ExprId b) {
  if (!pool.is(a, Op::Not) || !pool.is(b, Op::Not)) return a == b;
  const ExprId p = pool.operand(a, 0), q = pool.operand(b, 0);
  return pool.is(p, Op::Lt) && pool.is(q, Op::Lt) && pool.operand(p, 0) == pool.operand(q, 1) &&
         pool.operand(p, 1) == pool.operand(q, 0);
}

}  // namespace

ExprId negation(ExprPool& pool, ExprId condition) { return pool.make(Op::Not, {condition}); }

ExprId both(ExprPool& pool, ExprId a, ExprId b) {
  if (!a.valid()) return b;
  return b.valid() ? pool.logical_and(a, b) : a;
}

ExprId either(ExprPool& pool, ExprId a, ExprId b) {
  if (!a.valid() || !b.valid()) return {};
  if (a == negation(pool, b) || b == negation(pool, a) || excludes_nothing(pool, a, b))
    return a == b ? a : ExprId{};
  return pool.make(Op::Or, {a, b});
}

ExprId guard(ExprPool& pool, ExprId condition, ExprId value) {
  if (!condition.valid()) return value;
  return pool.select(condition, value, pool.constant(0, pool.dtype(value)));
}

std::vector<ExprId> conjuncts(const ExprPool& pool, ExprId condition) {
  std::vector<ExprId> found, stack;
  if (condition.valid()) stack.push_back(condition);
  while (!stack.empty()) {
    const ExprId id = stack.back();
    stack.pop_back();
    if (pool.is(id, Op::And)) {
      stack.push_back(pool.operand(id, 1));
      stack.push_back(pool.operand(id, 0));
    } else if (!pool.is_true(id)) {
      found.push_back(id);
    }
  }
  return found;
}

ExprId balanced_sum(ExprPool& pool, std::span<const ExprId> terms) {
  std::vector<ExprId> level(terms.begin(), terms.end());
  while (level.size() > 1) {
    size_t kept = 0;
    for (size_t k = 0; k < level.size(); k += 2) {
      ExprId pair = level[k];
      if (k + 1 < level.size())
        pair = level[k] == level[k + 1] ? pool.mul(level[k], pool.constant(2, pool.dtype(level[k])))
                                        : pool.add(level[k], level[k + 1]);
      level[kept++] = pair;
    }
    level.resize(kept);
  }
  return level.empty() ? ExprId{} : level[0];
}

ConditionId Conditions::refine(ConditionId parent, ExprId literal) {
  if (!literal.valid() || pool_.is_true(literal)) return parent;
  for (uint32_t at = parent.value; at != 0; at = nodes_[at].parent) {
    if (nodes_[at].literal == literal) return parent;
    constexpr uint32_t kLookBack =
        8;  // nested equal selects are found nearby; the walk stays bounded
    if (nodes_[parent.value].depth - nodes_[at].depth >= kLookBack) break;
  }
  const auto [at, fresh] =
      children_.try_emplace({parent.value, literal}, static_cast<uint32_t>(nodes_.size()));
  if (fresh) nodes_.push_back({parent.value, nodes_[parent.value].depth + 1, literal, {}});
  return ConditionId{at->second};
}

ConditionId Conditions::common(ConditionId a, ConditionId b) const {
  while (a != b) {
    ConditionId& deeper = nodes_[a.value].depth >= nodes_[b.value].depth ? a : b;
    deeper.value = nodes_[deeper.value].parent;
  }
  return a;
}

ExprId Conditions::expr(ConditionId condition) {
  std::vector<uint32_t> open;
  uint32_t at = condition.value;
  for (; at != 0 && !nodes_[at].whole.valid(); at = nodes_[at].parent) open.push_back(at);
  ExprId whole = nodes_[at].whole;
  for (size_t k = open.size(); k-- > 0;) {
    whole = both(pool_, whole, nodes_[open[k]].literal);
    nodes_[open[k]].whole = whole;
  }
  return whole;
}

ExprId Conditions::expr_below(ConditionId condition, ConditionId ancestor) {
  std::vector<ExprId> literals;
  for (uint32_t at = condition.value; at != ancestor.value; at = nodes_[at].parent)
    literals.push_back(nodes_[at].literal);
  ExprId all;
  for (size_t k = literals.size(); k-- > 0;) all = both(pool_, all, literals[k]);
  return all;
}

Guarded Conditions::sum(std::span<const Guarded> terms) {
  // Deepest conditions first: (depth, condition) -> values.
  std::map<std::pair<uint32_t, uint32_t>, std::vector<ExprId>> open;
  const auto put = [&](ConditionId c, ExprId v) {
    open[{nodes_[c.value].depth, c.value}].push_back(v);
  };
  for (const Guarded& term : terms) put(term.condition, term.value);
  std::vector<Guarded> rest;
  while (!open.empty()) {
    auto last = std::prev(open.end());
    const ConditionId condition{last->first.second};
    const ExprId value = balanced_sum(pool_, last->second);
    open.erase(last);
    const Entry entry = nodes_[condition.value];
    if (open.empty() && rest.empty()) return {condition, value};
    const auto sibling = condition.always()
                             ? children_.end()
                             : children_.find({entry.parent, negation(pool_, entry.literal)});
    const auto other =
        sibling == children_.end() ? open.end() : open.find({entry.depth, sibling->second});
    if (other == open.end()) {
      rest.push_back({condition, value});
      continue;
    }
    const ExprId other_value = balanced_sum(pool_, other->second);
    open.erase(other);
    const bool negated = pool_.is(entry.literal, Op::Not);
    const ExprId positive = negated ? pool_.operand(entry.literal, 0) : entry.literal;
    put(ConditionId{entry.parent}, negated ? pool_.select(positive, other_value, value)
                                           : pool_.select(positive, value, other_value));
  }
  return join(rest);
}

Guarded Conditions::join(std::span<const Guarded> rest) {
  if (rest.size() == 1) return rest[0];
  ConditionId ancestor = rest[0].condition;
  for (const Guarded& term : rest) ancestor = common(ancestor, term.condition);
  std::vector<ExprId> values;
  ExprId any;
  bool always = false;
  for (const Guarded& term : rest) {
    const ExprId below = expr_below(term.condition, ancestor);
    values.push_back(guard(pool_, below, term.value));
    if (values.size() == 1) any = below;
    always = always || !below.valid();
    if (!always) any = either(pool_, any, below);
    always = always || !any.valid();
  }
  return {always ? ancestor : refine(ancestor, any), balanced_sum(pool_, values)};
}

}  // namespace adjit::diff
