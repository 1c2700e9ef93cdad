// autosched/moves/substitution.cpp -- stages' bodies in place of the reads of their results.
#include "autosched/moves/substitution.hpp"

#include "autosched/program/graph_edit.hpp"
#include "autosched/program/limits.hpp"
#include "runtime/graph/affine_constraint.hpp"

namespace adjit::sched {

Substitution::Substitution(Graph& graph)
    : graph_(graph), body_of_(graph.tensors.size()), condition_of_(graph.tensors.size()) {}

void Substitution::replace(const Stage& stage) {
  const ExprId condition = rows_condition(graph_.pool, stage.domain);
  for (size_t k = 0; k < stage.results.size(); ++k) {
    body_of_[stage.results[k].value] = stage.bodies[k];
    condition_of_[stage.results[k].value] = condition;
  }
}

void Substitution::forget(const Stage& stage) {
  for (TensorId id : stage.results) body_of_[id.value] = {};
  rebuild_.reset();
}

void Substitution::apply(Stage& stage) {
  if (!rebuild_)
    rebuild_ = std::make_unique<Rebuilder>(graph_.pool, graph_.pool,
                                           [this](ExprId leaf, std::span<const ExprId> operands) {
                                             return this->leaf(leaf, operands);
                                           });
  nodes_before_ = graph_.pool.size();
  for (ExprId& body : stage.bodies) body = (*rebuild_)(body);
}

ExprId Substitution::leaf(ExprId leaf, std::span<const ExprId> operands) {
  ExprPool& pool = graph_.pool;
  if (!pool.is(leaf, Op::Read)) return {};
  const TensorId tensor = pool.read_tensor(leaf);
  const ExprId body = body_of_[tensor.value];
  if (!body.valid()) return {};
  // Bodies that read others at several points, which do the same, would double each time.
  if (pool.size() - nodes_before_ > kNodeLimit)
    throw Error(ErrorCode::Schedule, "a body of more than " + std::to_string(kNodeLimit) +
                                         " nodes would read '" + graph_.info(tensor).name +
                                         "'; keep some of the stages");
  const size_t rank = graph_.info(tensor).shape.size();
  const std::vector<ExprId> index(operands.begin(),
                                  operands.begin() + static_cast<std::ptrdiff_t>(rank));
  ExprId condition = operands.size() > rank ? operands.back() : ExprId{};
  if (const ExprId rows = condition_of_[tensor.value]; rows.valid()) {
    const ExprId here = body_at(pool, rows, index, {});
    condition = condition.valid() ? pool.logical_and(condition, here) : here;
  }
  const ExprId value = body_at(pool, body, index, condition);
  if (!condition.valid()) return value;
  return pool.select(condition, value, pool.constant(0, pool.dtype(value)));
}

}  // namespace adjit::sched
