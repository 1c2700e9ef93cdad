// runtime/graph/interpret/accumulator.cpp -- folds the values of one stage's bodies: the meaning of
// every combiner.
#include "runtime/graph/interpret/accumulator.hpp"

#include <bit>
#include <cmath>

#include "runtime/graph/identity.hpp"

namespace adjit::graph {

Accumulator::Accumulator(const Graph& graph, const Stage& stage)
    : graph_(&graph), combiner_(&stage.combiner), combine_(graph, stage.combiner.combine, {}) {
  for (ExprId body : stage.bodies) dtypes_.push_back(accumulator_of(graph.pool.dtype(body)));
  for (ExprId body : stage.bodies) products_.push_back(graph.pool.is(body, Op::Mul));
  values_.resize(dtypes_.size());
}

void Accumulator::reset() {
  empty_ = true;
  for (size_t k = 0; k < values_.size(); ++k) values_[k] = identity(k);
}

void Accumulator::add(const PointEvaluator& bodies) {
  switch (combiner_->kind) {
    case CombinerKind::None:
      for (size_t k = 0; k < values_.size(); ++k) values_[k] = bodies.value(k);
      break;
    case CombinerKind::Sum:
    case CombinerKind::Product:
    case CombinerKind::Max:
    case CombinerKind::Min:
    case CombinerKind::Any:
    case CombinerKind::All:
      for (size_t k = 0; k < values_.size(); ++k) fold(bodies, k);
      break;
    case CombinerKind::ArgMax:
    case CombinerKind::ArgMin:
      if (empty_ || wins(bodies.value(0))) values_ = {bodies.value(0), bodies.value(1)};
      break;
    case CombinerKind::Custom: combine(bodies); break;
  }
  empty_ = false;
}

Scalar Accumulator::identity(size_t k) const {
  if (combiner_->kind != CombinerKind::Custom) {
    const bool place = k > 0 && (combiner_->kind == CombinerKind::ArgMax ||
                                 combiner_->kind == CombinerKind::ArgMin);
    return place ? Scalar::of_int(0) : identity_of(combiner_->kind, dtypes_[k]);
  }
  const Node& node = graph_->pool[combiner_->identity[k]];
  return is_float(node.dtype) ? Scalar::of_float(std::bit_cast<double>(node.payload))
                              : Scalar::of_int(static_cast<int64_t>(node.payload));
}

void Accumulator::fold(const PointEvaluator& bodies, size_t k) {
  const auto with = [&](Op op) {
    const Scalar operands[] = {values_[k], bodies.value(k)};
    values_[k] = apply(op, dtypes_[k], dtypes_[k], operands);
  };
  switch (combiner_->kind) {
    case CombinerKind::Product: return with(Op::Mul);
    case CombinerKind::Max: return with(Op::Max);
    case CombinerKind::Min: return with(Op::Min);
    case CombinerKind::Any: values_[k].i |= bodies.value(k).i; return;
    case CombinerKind::All: values_[k].i &= bodies.value(k).i; return;
    default: break;
  }
  if (!products_[k]) return with(Op::Add);
  const Scalar operands[] = {bodies.operand_value(k, 0), bodies.operand_value(k, 1), values_[k]};
  values_[k] = apply(Op::Fma, dtypes_[k], dtypes_[k], operands);
}

// Strictly better than the best so far; the first NaN wins over everything after it.
bool Accumulator::wins(Scalar candidate) const {
  const bool max = combiner_->kind == CombinerKind::ArgMax;
  if (!is_float(dtypes_[0])) return max ? candidate.i > values_[0].i : candidate.i < values_[0].i;
  if (std::isnan(values_[0].f)) return false;
  return std::isnan(candidate.f) || (max ? candidate.f > values_[0].f : candidate.f < values_[0].f);
}

void Accumulator::combine(const PointEvaluator& bodies) {
  std::vector<Scalar> arguments = values_;
  for (size_t k = 0; k < values_.size(); ++k) arguments.push_back(bodies.value(k));
  combine_.move_to({}, arguments);
  for (size_t k = 0; k < values_.size(); ++k) values_[k] = combine_.value(k);
}

}  // namespace adjit::graph
