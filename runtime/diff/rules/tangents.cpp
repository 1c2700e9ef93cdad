// runtime/diff/rules/tangents.cpp -- the forward sweep over bodies.
#include "runtime/diff/rules/tangents.hpp"

#include "runtime/diff/conditions/condition.hpp"
#include "runtime/diff/rules/rules.hpp"

namespace adjit::diff {
namespace {

class TangentSweep {
 public:
  TangentSweep(ExprPool& pool, const std::unordered_map<uint32_t, ExprId>& value_of)
      : pool_(pool), conditions_(pool), value_of_(value_of) {}

  ExprId of(ExprId id) const {
    const auto found = tangent_.find(id.value);
    return found == tangent_.end() ? ExprId{} : found->second;
  }

  void set(ExprId id, ExprId tangent) {
    if (tangent.valid()) tangent_[id.value] = tangent;
  }

  // Operands have been visited. The two branches of a select rejoin in Conditions::sum, so that an
  // unselected branch never reaches the tangent.
  ExprId combined(ExprId node) {
    const std::vector<ExprId> operands(pool_.operands(node).begin(), pool_.operands(node).end());
    const auto known = value_of_.find(node.value);
    const ExprId value = known == value_of_.end() ? node : known->second;
    std::vector<Guarded> terms;
    for (size_t k = 0; k < operands.size(); ++k) {
      if (!of(operands[k]).valid()) continue;
      const ExprId c = pool_.cast(of(operands[k]), accumulator_of(pool_.dtype(node)));
      const ExprId part = pool_.is(node, Op::Cast) ? c : contribution(pool_, node, k, c, value);
      if (part.valid())
        terms.push_back({conditions_.refine(ConditionId{}, participation(pool_, node, k)), part});
    }
    if (terms.empty()) return {};
    const Guarded total = conditions_.sum(terms);
    return guard(pool_, conditions_.expr(total.condition), total.value);
  }

 private:
  ExprPool& pool_;
  Conditions conditions_;
  const std::unordered_map<uint32_t, ExprId>& value_of_;
  std::unordered_map<uint32_t, ExprId> tangent_;
};

}  // namespace

std::vector<ExprId> tangents(ExprPool& pool, std::span<const ExprId> roots,
                             const std::function<ExprId(ExprId)>& leaf_tangent,
                             const std::unordered_map<uint32_t, ExprId>& value_of) {
  TangentSweep sweep(pool, value_of);
  for (ExprId id : reachable(pool, roots)) {
    if (!is_float(pool.dtype(id))) continue;
    const bool leaf = pool.is(id, Op::Read) || pool.is(id, Op::Argument);
    sweep.set(id, leaf ? leaf_tangent(id) : sweep.combined(id));
  }
  std::vector<ExprId> found;
  for (ExprId root : roots) found.push_back(sweep.of(root));
  return found;
}

}  // namespace adjit::diff
