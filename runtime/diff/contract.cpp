// runtime/diff/contract.cpp -- multiply-add becomes fma, here and nowhere else.
#include <algorithm>
#include <unordered_map>

#include "runtime/diff/rewrite.hpp"
#include "runtime/diff/simplify.hpp"
#include "runtime/graph/subgraphs.hpp"

namespace adjit {
namespace {

// a * b + c, c + a * b and a * b - c, c - a * b of floats. The rule looks at the node alone, not at
// how often the product is used: the same expression is contracted the same way in every stage, so
// a value recomputed is bitwise the value saved. (A product with another use is still computed for
// that use; the fma takes the addition's place.)
ExprId contracted(ExprPool& pool, ExprId id) {
  const Op op = pool[id].op;
  const DType dtype = pool.dtype(id);
  if ((op != Op::Add && op != Op::Sub) || (dtype != DType::Float32 && dtype != DType::Float64))
    return {};
  const ExprId a = pool.operand(id, 0), b = pool.operand(id, 1);
  const bool subtract = op == Op::Sub;
  if (pool.is(a, Op::Mul))
    return pool.make(Op::Fma, {pool.operand(a, 0), pool.operand(a, 1), subtract ? pool.neg(b) : b});
  if (!pool.is(b, Op::Mul)) return {};
  const ExprId x = pool.operand(b, 0), y = pool.operand(b, 1);
  return pool.make(Op::Fma, {subtract ? pool.neg(x) : x, y, a});
}

class Contractor {
 public:
  explicit Contractor(const Graph& graph) : graph_(graph) {}

  Graph operator()() {
    for (Stage& stage : graph_.stages)
      for (auto* list : {&stage.bodies, &stage.target, &stage.combiner.combine})
        contract_all(*list);
    return std::move(graph_);
  }

 private:
  void contract_all(std::vector<ExprId>& roots) {
    ExprPool& pool = graph_.pool;
    std::vector<ExprId> operands;
    for (ExprId id : reachable(pool, roots)) {
      if (done_.contains(id.value)) continue;
      std::unordered_map<uint32_t, ExprId> changed;
      for (ExprId operand : pool.operands(id))
        if (done_.at(operand.value) != operand)
          changed.emplace(operand.value, done_.at(operand.value));
      ExprId now = changed.empty() ? id : with_operands(pool, id, changed);
      if (const ExprId fma = contracted(pool, now); fma.valid()) now = fma;
      done_.emplace(id.value, now);
    }
    for (ExprId& root : roots) root = done_.at(root.value);
  }

  Graph graph_;
  std::unordered_map<uint32_t, ExprId> done_;  // over the whole graph: bodies share nodes
};

}  // namespace

Graph contract(const Graph& graph) {
  return compact(with_subgraphs(Contractor(graph)(), contract));
}

}  // namespace adjit
