// runtime/graph/interpret/evaluator.cpp -- scalar expressions at one point of a domain.
#include "runtime/graph/interpret/evaluator.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <unordered_map>

#include "runtime/graph/interpret/array.hpp"
#include "runtime/graph/print/printer.hpp"

namespace adjit::graph {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

// The second operand of a && b and a || b is evaluated only where the first leaves it open.
bool is_logic(Op op) { return op == Op::And || op == Op::Or; }

// Whether operand k of a node is evaluated only under a condition that the node itself decides.
bool is_conditional(Op op, bool guarded, size_t k, size_t count) {
  if (op == Op::Select || is_logic(op)) return k != 0;
  return op == Op::Read && guarded && k + 1 != count;
}

// Whether one operand of a logic operation is all that it takes.
bool decides(Op op, Scalar first) { return (first.i != 0) == (op == Op::Or); }

// A read at a point whose coordinate in a dimension lies outside its tensor.
[[noreturn]] void out_of_range(const Graph& graph, ExprId read, std::span<const int64_t> axes,
                               size_t dimension, int64_t index) {
  Domain box;
  box.extents.assign(axes.size(), 0);
  box.output_rank = axes.size();
  const std::vector<std::string> names = default_axis_names(box);
  std::string point;
  for (size_t k = 0; k < axes.size(); ++k)
    point += (k ? ", " : " at ") + names[k] + " = " + std::to_string(axes[k]);
  const TensorInfo& tensor = graph.info(graph.pool.read_tensor(read));
  throw Error(ErrorCode::Bounds,
              "index " + std::to_string(index) + " of dimension " + std::to_string(dimension) +
                  " is out of range 0:" + std::to_string(tensor.shape[dimension]) +
                  " in the read " + print_expr(graph, read, names) + point +
                  "; guard the read with select or where=, or choose a mode (clip, wrap, drop)");
}

}  // namespace

PointEvaluator::PointEvaluator(const Graph& graph, std::span<const ExprId> roots,
                               std::span<const Array* const> arrays)
    : graph_(&graph), arrays_(arrays) {
  const ExprPool& pool = graph.pool;
  const std::vector<ExprId> nodes = reachable(pool, roots);
  std::unordered_map<uint32_t, uint32_t> slots;
  for (ExprId id : nodes) {
    const Node& node = pool[id];
    Instruction step{node.op,
                     node.dtype,
                     node.dtype,
                     false,
                     static_cast<uint32_t>(operands_.size()),
                     node.operand_count,
                     node.payload,
                     id};
    if (node.operand_count > 0) step.operand = pool.dtype(pool.operands(id).back());
    if (node.op == Op::Read) {
      step.guarded = pool.read_predicate(id).valid();
      step.payload = pool.read_tensor(id).value;
    }
    for (ExprId operand : pool.operands(id)) operands_.push_back(slots.at(operand.value));
    slots.emplace(id.value, static_cast<uint32_t>(instructions_.size()));
    instructions_.push_back(step);
  }
  std::vector<bool> eager(instructions_.size(), false);
  for (ExprId root : roots) {
    roots_.push_back(slots.at(root.value));
    eager[roots_.back()] = true;
  }
  for (size_t s = instructions_.size(); s-- > 0;) {
    if (!eager[s]) continue;
    const Instruction& step = instructions_[s];
    for (size_t k = 0; k < step.count; ++k)
      if (!is_conditional(step.op, step.guarded, k, step.count)) eager[slot_of(step, k)] = true;
  }
  values_.resize(instructions_.size());
  stamps_.assign(instructions_.size(), 0);
  for (uint32_t s = 0; s < instructions_.size(); ++s) {
    const Instruction& step = instructions_[s];
    if (step.op == Op::Constant) {
      values_[s] = is_float(step.dtype) ? Scalar::of_float(std::bit_cast<double>(step.payload))
                                        : Scalar::of_int(static_cast<int64_t>(step.payload));
      stamps_[s] = UINT64_MAX;
    } else if (eager[s]) {
      eager_.push_back(s);
    }
  }
}

void PointEvaluator::move_to(std::span<const int64_t> axes, std::span<const Scalar> arguments) {
  ++epoch_;
  axes_ = axes;
  arguments_ = arguments;
  for (uint32_t slot : eager_) run(slot);
}

// All unconditional operands have run before; a conditional one may not have.
void PointEvaluator::run(uint32_t slot) {
  const Instruction& step = instructions_[slot];
  if ((step.op == Op::Select || is_logic(step.op) || step.guarded) &&
      missing_operand(step) != kNone)
    return demand(slot);
  values_[slot] = execute(step);
  stamps_[slot] = epoch_;
}

void PointEvaluator::demand(uint32_t slot) {
  pending_.assign(1, slot);
  while (!pending_.empty()) {
    const uint32_t top = pending_.back();
    if (const uint32_t missing = missing_operand(instructions_[top]); missing != kNone) {
      pending_.push_back(missing);
      continue;
    }
    pending_.pop_back();
    values_[top] = execute(instructions_[top]);
    stamps_[top] = epoch_;
  }
}

uint32_t PointEvaluator::missing_operand(const Instruction& step) const {
  if (step.op == Op::Select) {
    if (!known(slot_of(step, 0))) return slot_of(step, 0);
    const uint32_t chosen = slot_of(step, at(step, 0).i ? 1 : 2);
    return known(chosen) ? kNone : chosen;
  }
  size_t needed = step.count;
  if (is_logic(step.op) && known(slot_of(step, 0)) && decides(step.op, at(step, 0))) return kNone;
  if (step.guarded) {
    const uint32_t predicate = slot_of(step, step.count - 1);
    if (!known(predicate)) return predicate;
    if (!values_[predicate].i) return kNone;
    needed = step.count - 1;
  }
  for (size_t k = 0; k < needed; ++k)
    if (!known(slot_of(step, k))) return slot_of(step, k);
  return kNone;
}

Scalar PointEvaluator::execute(const Instruction& step) const {
  switch (step.op) {
    case Op::Axis: return Scalar::of_int(axes_[step.payload]);
    case Op::Argument: return arguments_[step.payload];
    case Op::Read: return read(step);
    case Op::Select: return at(step, at(step, 0).i ? 1 : 2);
    case Op::And:
    case Op::Or: return decides(step.op, at(step, 0)) ? at(step, 0) : at(step, 1);
    default: break;
  }
  std::array<Scalar, 3> v;
  for (size_t k = 0; k < step.count; ++k) v[k] = at(step, k);
  return apply(step.op, step.operand, step.dtype, std::span(v.data(), step.count));
}

std::vector<std::pair<TensorId, int64_t>> PointEvaluator::elements_read() const {
  std::vector<std::pair<TensorId, int64_t>> found;
  for (size_t s = 0; s < instructions_.size(); ++s)
    if (const Instruction& step = instructions_[s];
        step.op == Op::Read && stamps_[s] == epoch_ && touches(step))
      found.emplace_back(TensorId{static_cast<uint32_t>(step.payload)}, element_of(step));
  return found;
}

bool PointEvaluator::touches(const Instruction& step) const {
  return !step.guarded || at(step, step.count - 1).i;
}

Scalar PointEvaluator::read(const Instruction& step) const {
  if (!touches(step)) return is_float(step.dtype) ? Scalar::of_float(0) : Scalar::of_int(0);
  const Array* array = arrays_[step.payload];
  return load_element(
      array->bytes.data() + static_cast<size_t>(element_of(step)) * size_of(array->dtype),
      array->dtype);
}

int64_t PointEvaluator::element_of(const Instruction& step) const {
  const Array* array = arrays_[step.payload];
  invariant(array != nullptr, "a stage reads a tensor that has no value yet");
  int64_t linear = 0;
  for (size_t d = 0; d < array->shape.size(); ++d) {
    const int64_t coordinate = at(step, d).i;
    if (coordinate < 0 || coordinate >= array->shape[d])
      out_of_range(*graph_, step.source, axes_, d, coordinate);
    linear = linear * array->shape[d] + coordinate;
  }
  return linear;
}

}  // namespace adjit::graph
