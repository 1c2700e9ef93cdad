// runtime/trace/ops/call/operator_call.hpp -- one call of an operator: its operands by position in
// the signature, and its attributes.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/process/json.hpp"
#include "runtime/trace/ops/call/attributes.hpp"
#include "runtime/trace/ops/call/operator.hpp"
#include "runtime/trace/ops/stages/operand.hpp"
#include "runtime/trace/ops/stages/shape.hpp"

namespace adjit::trace {

class OperatorCall {
 public:
  /// Binds inputs and "scalars" to the signature. ErrorCode::Invalid for a wrong number of operands
  /// and for attributes that the signature does not name.
  OperatorCall(Trace& trace, const Operator& op, std::span<const TensorId> inputs,
               const Json& attributes);

  Trace& trace() const { return trace_; }
  std::string_view name() const { return op_.name; }
  const Attributes& attributes() const { return attributes_; }

  const Operand& operand(size_t k) const;
  std::span<const Operand> operands() const { return operands_; }
  bool has_operand(size_t k) const { return k < operands_.size() && operands_[k].given(); }
  /// Operand k as a tensor: a scalar in its place becomes a 0-d tensor. Weak floats are cast to the
  /// float type of the other operands.
  TensorId tensor(size_t k) const;
  /// From here on tensor() gives these operands in the dtype that they agree on, which is returned.
  DType promote(std::initializer_list<size_t> operands);
  /// A copy: the trace's own moves when a stage is added, which tensor() of a scalar operand does.
  Shape shape(size_t k) const { return shape_of(trace_, tensor(k)); }
  size_t rank(size_t k) const { return shape(k).size(); }

 private:
  Trace& trace_;
  const Operator& op_;
  Attributes attributes_;
  std::vector<Operand> operands_;
  mutable std::vector<TensorId> tensors_;  // what tensor() gave; invalid: not asked for yet
};

/// All operands as tensors.
std::vector<TensorId> tensors_of(const OperatorCall& call);
/// "axis" of operand k, normalised: one axis.
size_t axis_of(const OperatorCall& call, size_t k, int64_t otherwise,
               std::string_view key = "axis");
/// "axis" of operand k as a set: all axes for null.
std::vector<size_t> axes_of(const OperatorCall& call, size_t k, std::string_view key = "axis");
/// Throws ErrorCode::Shape with the shapes of all operands appended. (Operator and source line are
/// prefixed to every error where the call ends.)
[[noreturn]] void fail_shape(const OperatorCall& call, const std::string& what);

}  // namespace adjit::trace
