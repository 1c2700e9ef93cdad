// runtime/diff/simplify/contract.cpp -- multiply-add becomes fma, here and nowhere else.
#include <algorithm>
#include <unordered_map>

#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/subgraphs.hpp"

namespace adjit::diff {
namespace {

bool is_product(const ExprPool& pool, ExprId id) { return pool.is(id, Op::Mul); }

ExprId without_sign(const ExprPool& pool, ExprId id) {
  while (pool.is(id, Op::Neg)) id = pool.operand(id, 0);
  return id;
}

// Whether two products have the same factors but for signs: the sum may be exactly 0.
bool may_cancel(const ExprPool& pool, ExprId p, ExprId q) {
  const ExprId a = without_sign(pool, pool.operand(p, 0)),
               b = without_sign(pool, pool.operand(p, 1)),
               c = without_sign(pool, pool.operand(q, 0)),
               d = without_sign(pool, pool.operand(q, 1));
  return (a == c && b == d) || (a == d && b == c);
}

// Sums a * b + c and c + a * b of floats. A difference stays one of rounded values: what is
// subtracted may be, or come from, the same product rounded (`x * c - max(x * c)`, `a * b - b *
// a`), and the product's own rounding error, which an fma would leave, is no result then. A number
// that the program says is no such copy.
//
// The rule looks at the node alone, not at who else uses the product: the same expression is
// contracted the same way in every stage and program, so a value recomputed is bitwise the value
// saved. (A product with another use is still computed for that use; the fma takes the addition's
// place.)
ExprId contracted(ExprPool& pool, ExprId id) {
  const Op op = pool[id].op;
  const DType dtype = pool.dtype(id);
  if ((op != Op::Add && op != Op::Sub) || (dtype != DType::Float32 && dtype != DType::Float64))
    return {};
  const ExprId a = pool.operand(id, 0), b = pool.operand(id, 1);
  if (!is_product(pool, a) && !is_product(pool, b)) return {};
  if (op == Op::Add) {
    if (pool.is(a, Op::Neg) || pool.is(b, Op::Neg)) return {};
    if (is_product(pool, a) && is_product(pool, b) && may_cancel(pool, a, b)) return {};
    const ExprId product = is_product(pool, a) ? a : b, rest = product == a ? b : a;
    return pool.make(Op::Fma, {pool.operand(product, 0), pool.operand(product, 1), rest});
  }
  if (is_product(pool, a) && pool.value(b))
    return pool.make(Op::Fma, {pool.operand(a, 0), pool.operand(a, 1), pool.neg(b)});
  if (is_product(pool, b) && pool.value(a))
    return pool.make(Op::Fma, {pool.neg(pool.operand(b, 0)), pool.operand(b, 1), a});
  return {};
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

}  // namespace adjit::diff
