// tests/fuzz/oracle/wide_evaluator.hpp -- scalar expressions at one point of a domain, in wide
// values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/graph/graph.hpp"
#include "tests/fuzz/oracle/wide_interpreter.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// Evaluates only what a root needs at the point: the operand of a select that is not taken, and a
/// read whose predicate is false, touch nothing.
class WideEvaluator {
 public:
  WideEvaluator(const Graph& graph, std::span<const ExprId> roots,
                std::span<const WideArray* const> arrays, Decisions& decisions);

  void move_to(std::span<const int64_t> axes, std::span<const Wide> arguments = {});
  /// The k-th root at the current point.
  Wide value(size_t k) { return evaluate(roots_[k]); }

 private:
  struct Instruction {
    Op op = Op::Constant;
    DType dtype = DType::Bool, operand = DType::Bool;  // of the result, of the last operand
    bool guarded = false;                              // a read whose last operand is a predicate
    uint32_t first = 0, count = 0;
    uint64_t payload = 0;
  };
  Wide evaluate(uint32_t slot);
  Wide compute(const Instruction& instruction);
  Wide select(const Instruction& instruction);
  Wide logic(const Instruction& instruction);
  Wide read(const Instruction& instruction);
  Wide operand(const Instruction& instruction, size_t k) {
    return evaluate(operands_[instruction.first + k]);
  }

  const Graph* graph_;
  std::span<const WideArray* const> arrays_;
  Decisions& decisions_;
  std::vector<Instruction> instructions_;
  std::vector<uint32_t> operands_, roots_;
  std::vector<Wide> values_;
  std::vector<uint64_t> stamps_;
  uint64_t epoch_ = 0;
  std::span<const int64_t> axes_;
  std::span<const Wide> arguments_;
};

}  // namespace adjit::testing
