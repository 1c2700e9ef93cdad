// tests/fuzz/oracle/wide_evaluator.cpp -- scalar expressions at one point of a domain, in wide
// values.
#include "tests/fuzz/oracle/wide_evaluator.hpp"
#include "tests/rooms.hpp"

#include <array>
#include <bit>
#include <unordered_map>

namespace adjit::testing {

WideEvaluator::WideEvaluator(const Graph& graph, std::span<const ExprId> roots,
                             std::span<const WideArray* const> arrays, Decisions& decisions)
    : graph_(&graph), arrays_(arrays), decisions_(decisions) {
  const ExprPool& pool = graph.pool;
  std::unordered_map<uint32_t, uint32_t> slots;
  for (ExprId id : reachable(pool, roots)) {
    const Node& node = pool[id];
    Instruction step{node.op,
                     node.dtype,
                     node.dtype,
                     false,
                     static_cast<uint32_t>(operands_.size()),
                     node.operand_count,
                     node.payload};
    if (node.operand_count > 0) step.operand = pool.dtype(pool.operands(id).back());
    if (node.op == Op::Read) {
      step.guarded = pool.read_predicate(id).valid();
      step.payload = pool.read_tensor(id).value;
    }
    for (ExprId operand : pool.operands(id)) operands_.push_back(slots.at(operand.value));
    slots.emplace(id.value, static_cast<uint32_t>(instructions_.size()));
    instructions_.push_back(step);
  }
  for (ExprId root : roots) roots_.push_back(slots.at(root.value));
  values_.resize(instructions_.size());
  stamps_.assign(instructions_.size(), 0);
}

void WideEvaluator::move_to(std::span<const int64_t> axes, std::span<const Wide> arguments) {
  ++epoch_;
  axes_ = axes;
  arguments_ = arguments;
}

Wide WideEvaluator::evaluate(uint32_t slot) {
  if (stamps_[slot] == epoch_) return values_[slot];
  const Wide value = compute(instructions_[slot]);
  values_[slot] = value;
  stamps_[slot] = epoch_;
  return value;
}

Wide WideEvaluator::compute(const Instruction& step) {
  switch (step.op) {
    case Op::Constant:
      return is_float(step.dtype) ? Wide::of_float(std::bit_cast<double>(step.payload))
                                  : Wide::of_int(static_cast<int64_t>(step.payload));
    case Op::Axis: return Wide::of_int(axes_[step.payload]);
    case Op::Argument: return arguments_[step.payload];
    case Op::Read: return read(step);
    case Op::Select: return select(step);
    case Op::And:
    case Op::Or: return logic(step);
    default: break;
  }
  std::array<Wide, 3> v;
  for (size_t k = 0; k < step.count; ++k) v[k] = operand(step, k);
  return apply_wide(step.op, step.operand, step.dtype, std::span(v.data(), step.count), decisions_);
}

Wide WideEvaluator::select(const Instruction& step) {
  const Wide condition = operand(step, 0);
  decisions_.add(condition.i);
  Wide value = operand(step, condition.i ? 1 : 2);
  if (!condition.sure()) value.error = Wide::kUnknown;
  return value;
}

Wide WideEvaluator::logic(const Instruction& step) {
  const Wide a = operand(step, 0);
  const bool decided = (a.i != 0) == (step.op == Op::Or);
  if (decided && a.sure()) return a;
  const Wide b = decided ? Wide{0, a.i, Wide::kUnknown} : operand(step, 1);
  const bool second_decides = (b.i != 0) == (step.op == Op::Or);
  const bool sure = b.sure() && (a.sure() || second_decides);
  return {0, b.i, sure ? 0 : Wide::kUnknown};
}

Wide WideEvaluator::read(const Instruction& step) {
  bool sure = true;
  if (step.guarded) {
    const Wide predicate = operand(step, step.count - 1);
    decisions_.add(predicate.i);
    sure = predicate.sure();
    if (!predicate.i) return {0, 0, sure ? 0 : Wide::kUnknown};
  }
  const WideArray* array = arrays_[step.payload];
  invariant(array != nullptr, "a stage reads a tensor that has no value yet");
  int64_t linear = 0;
  for (size_t d = 0; d < array->shape.size(); ++d) {
    const Wide coordinate = operand(step, d);
    sure = sure && coordinate.sure();
    if (coordinate.i < 0 || coordinate.i >= array->shape[d])
      throw Error(ErrorCode::Bounds,
                  "a read of '" + graph_->info(TensorId{static_cast<uint32_t>(step.payload)}).name +
                      "' is out of range");
    linear = linear * array->shape[d] + coordinate.i;
  }
  Wide value = array->values[static_cast<size_t>(linear)];
  if (!sure) value.error = Wide::kUnknown;
  return value;
}

}  // namespace adjit::testing
