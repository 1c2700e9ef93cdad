// runtime/graph/interpret/evaluator.hpp -- scalar expressions at one point of a domain.
//
// Nodes that every evaluation needs run in id order; what stands behind a select or a read's
// predicate runs only when it is asked for, so that an unselected out-of-range read never faults.
// Each node is computed at most once per point, and nothing recurses on the C stack.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "runtime/expr/scalar.hpp"
#include "runtime/graph/graph.hpp"

namespace adjit::graph {

struct Array;

class PointEvaluator {
 public:
  /// `arrays[t]` is the value of tensor t (null while it has none); both must outlive the
  /// evaluator.
  PointEvaluator(const Graph& graph, std::span<const ExprId> roots,
                 std::span<const Array* const> arrays);

  /// Moves to a point: one value per axis, and one per argument of a custom combiner.
  /// ErrorCode::Bounds when a read that is reached is out of range.
  void move_to(std::span<const int64_t> axes, std::span<const Scalar> arguments = {});
  /// The k-th root at the current point.
  Scalar value(size_t k) const { return values_[roots_[k]]; }
  /// Operand `operand` of the k-th root at the current point (evaluated with it).
  Scalar operand_value(size_t k, size_t operand) const {
    return at(instructions_[roots_[k]], operand);
  }
  /// What was read at the current point: tensors, and elements in row-major order.
  std::vector<std::pair<TensorId, int64_t>> elements_read() const;

 private:
  struct Instruction {
    Op op = Op::Constant;
    DType dtype = DType::Bool;    // of the result
    DType operand = DType::Bool;  // of the last operand
    bool guarded = false;         // a read with a predicate (its last operand)
    uint32_t first = 0, count = 0;
    uint64_t payload = 0;
    ExprId source;
  };

  void run(uint32_t slot);
  void demand(uint32_t slot);
  /// The next operand that `slot` needs and that has no value yet, or UINT32_MAX.
  uint32_t missing_operand(const Instruction& instruction) const;
  Scalar execute(const Instruction& instruction) const;
  Scalar read(const Instruction& instruction) const;
  /// Whether a read's predicate, if any, holds.
  bool touches(const Instruction& instruction) const;
  int64_t element_of(const Instruction& instruction) const;
  // Constants carry the largest stamp: they are known at every point.
  bool known(uint32_t slot) const { return stamps_[slot] >= epoch_; }
  uint32_t slot_of(const Instruction& i, size_t k) const { return operands_[i.first + k]; }
  Scalar at(const Instruction& i, size_t k) const { return values_[slot_of(i, k)]; }

  const Graph* graph_;
  std::span<const Array* const> arrays_;
  std::vector<Instruction> instructions_;
  std::vector<uint32_t> operands_;
  std::vector<uint32_t> roots_;
  std::vector<uint32_t> eager_;  // slots without a condition in front of them, ascending
  std::vector<Scalar> values_;
  std::vector<uint64_t> stamps_;
  std::vector<uint32_t> pending_;
  uint64_t epoch_ = 0;
  std::span<const int64_t> axes_;
  std::span<const Scalar> arguments_;
};

}  // namespace adjit::graph
