// runtime/diff/rules/sweep.cpp -- the reverse sweep over bodies.
#include "runtime/diff/rules/sweep.hpp"

#include <unordered_map>

#include "runtime/diff/rules/rules.hpp"

namespace adjit::diff {
namespace {

class Sweep {
 public:
  Sweep(ExprPool& pool, std::span<const Seed> seeds) : pool_(pool), conditions_(pool) {
    std::vector<ExprId> roots;
    for (const Seed& seed : seeds) roots.push_back(seed.root);
    nodes_ = reachable(pool, roots);
  }

  std::vector<Access> operator()(std::span<const Seed> seeds,
                                 const std::function<bool(ExprId)>& active) {
    mark_active(active);
    for (const Seed& seed : seeds) arrive(seed);
    std::vector<Access> accesses;
    for (size_t at = nodes_.size(); at-- > 0;) {
      const auto found = arrived_.find(nodes_[at].value);
      if (found == arrived_.end()) continue;
      const Guarded total = conditions_.sum(found->second);
      arrived_.erase(found);
      if (pool_.is(nodes_[at], Op::Read)) {
        accesses.push_back({nodes_[at], conditions_.expr(total.condition), total.value});
      } else {
        distribute(nodes_[at], total);
      }
    }
    return {accesses.rbegin(), accesses.rend()};
  }

 private:
  // A node is active when its value is a float and depends on an active read through floats.
  void mark_active(const std::function<bool(ExprId)>& active) {
    for (ExprId id : nodes_) {
      if (!is_float(pool_.dtype(id))) continue;
      bool on = pool_.is(id, Op::Read) && active(id);
      if (!pool_.is(id, Op::Read))
        for (ExprId operand : pool_.operands(id)) on = on || active_.contains(operand.value);
      if (on) active_.emplace(id.value, true);
    }
  }

  void arrive(const Seed& seed) {
    if (!active_.contains(seed.root.value)) return;
    ConditionId condition;
    for (ExprId literal : conjuncts(pool_, seed.condition))
      condition = conditions_.refine(condition, literal);
    arrived_[seed.root.value].push_back({condition, seed.cotangent});
    if (seed.value.valid()) value_of_[seed.root.value] = seed.value;
  }

  void distribute(ExprId node, const Guarded& total) {
    const std::vector<ExprId> operands(pool_.operands(node).begin(), pool_.operands(node).end());
    const auto known = value_of_.find(node.value);
    const ExprId value = known == value_of_.end() ? node : known->second;
    for (size_t k = 0; k < operands.size(); ++k) {
      if (!active_.contains(operands[k].value)) continue;
      const ExprId part = contribution(pool_, node, k, total.value, value);
      if (!part.valid()) continue;
      const ConditionId condition =
          conditions_.refine(total.condition, participation(pool_, node, k));
      arrived_[operands[k].value].push_back({condition, part});
    }
  }

  ExprPool& pool_;
  Conditions conditions_;
  std::vector<ExprId> nodes_;  // ascending: operands before users
  std::unordered_map<uint32_t, bool> active_;
  std::unordered_map<uint32_t, std::vector<Guarded>> arrived_;
  std::unordered_map<uint32_t, ExprId> value_of_;
};

}  // namespace

std::vector<Access> sweep(ExprPool& pool, std::span<const Seed> seeds,
                          const std::function<bool(ExprId)>& active) {
  return Sweep(pool, seeds)(seeds, active);
}

}  // namespace adjit::diff
