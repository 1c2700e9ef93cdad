// runtime/trace/ops/call/operator_call.cpp -- binding operands to a signature.
#include "runtime/trace/ops/call/operator_call.hpp"

#include <algorithm>
#include <optional>

#include "runtime/trace/ops/call/signature.hpp"
#include "runtime/trace/ops/stages/elementwise.hpp"

namespace adjit::trace {
namespace {

// A number is weak; {"dtype": "float64", "value": 0.1} is not.
Operand literal_of(const Attributes& attributes, const Json& entry) {
  const bool typed = entry.is_object() && entry.contains("dtype") && entry.contains("value") &&
                     entry["dtype"].is_string();
  const std::optional<WeakScalar> literal = scalar_of(typed ? entry["value"] : entry);
  if (!literal) fail_attribute(attributes, "scalars", "numbers, bools, null or {dtype, value}");
  if (!typed) return *literal;
  const std::string name = entry["dtype"].get<std::string>();
  const std::optional<DType> dtype = dtype_from_name(name);
  if (!dtype) throw Error(ErrorCode::DType, "there is no dtype '" + name + "'");
  return {*literal, *dtype};
}

// The operands that are given, in the order of the signature.
std::vector<Operand> bound(const Operator& op, const OperatorSignature& signature,
                           std::span<const TensorId> inputs, const Attributes& attributes) {
  const Json* scalars = attributes.find("scalars");
  const Json* optional = attributes.find("optional");
  if (scalars && !scalars->is_array()) fail_attribute(attributes, "scalars", "a list");
  std::vector<Operand> operands;
  size_t next = 0;
  const auto take = [&](size_t position) -> Operand {
    if (scalars && position < scalars->size() && !(*scalars)[position].is_null()) {
      return literal_of(attributes, (*scalars)[position]);
    }
    if (next < inputs.size()) return inputs[next++];
    return {};
  };
  for (size_t k = 0; k < signature.tensors.size(); ++k) {
    const OperatorSignature::Parameter& parameter = signature.tensors[k];
    if (signature.variadic && k + 1 == signature.tensors.size()) {
      const size_t scalar_count = scalars ? scalars->size() : 0;
      while (next < inputs.size() || operands.size() < scalar_count)
        operands.push_back(take(operands.size()));
      break;
    }
    const bool named =
        !optional || !parameter.optional ||
        std::find(optional->begin(), optional->end(), parameter.name) != optional->end();
    operands.push_back(named ? take(k) : Operand{});
    if (!operands.back().given() && !parameter.optional)
      throw Error(ErrorCode::Invalid, "the operand '" + std::string(parameter.name) +
                                          "' is missing; the signature is " + std::string(op.name) +
                                          std::string(op.signature));
  }
  if (next < inputs.size())
    throw Error(ErrorCode::Invalid, std::to_string(inputs.size()) +
                                        " tensors are too many; the signature is " +
                                        std::string(op.name) + std::string(op.signature));
  return operands;
}

void check_names(const Operator& op, const OperatorSignature& signature, const Json& attributes) {
  for (const auto& [key, value] : attributes.items()) {
    if (key == "scalars" || key == "optional") continue;
    if (std::ranges::find(signature.attributes, std::string_view(key)) ==
        signature.attributes.end())
      throw Error(ErrorCode::Invalid, "there is no parameter '" + key + "'; the signature is " +
                                          std::string(op.name) + std::string(op.signature));
  }
}

}  // namespace

OperatorCall::OperatorCall(Trace& trace, const Operator& op, std::span<const TensorId> inputs,
                           const Json& attributes)
    : trace_(trace), op_(op), attributes_(attributes) {
  const OperatorSignature signature = parse_signature(op.signature);
  operands_ = bound(op, signature, inputs, attributes_);
  check_names(op, signature, attributes);
}

const Operand& OperatorCall::operand(size_t k) const {
  invariant(k < operands_.size(), "an operand that the signature does not have");
  return operands_[k];
}

TensorId OperatorCall::tensor(size_t k) const {
  const Operand& o = operand(k);
  if (tensors_.size() < operands_.size()) tensors_.resize(operands_.size());
  if (tensors_[k].valid()) return tensors_[k];
  invariant(o.given(), "an optional operand that was not given");
  const OperandType own = type_of(trace_, o);
  // A weak float takes the float type of what is beside it, which most operators ask of the tensor
  // alone; weak integers may be indices.
  const OperandType all = own.weak && is_float(own.dtype) ? common_type(trace_, operands_) : own;
  TensorId tensor = o.tensor;
  if (o.scalar) {
    StageBuilder stage(trace_, "literal", {});
    const DType held = accumulator_of(all.dtype);
    tensor = stage.finish({trace_.pool(), to_constant(trace_.pool(), *o.scalar, held)}, all.dtype);
    if (all.weak) trace_.set_weak(tensor);
  } else if (all.dtype != own.dtype) {
    tensor = astype(trace_, tensor, all.dtype);
  }
  tensors_[k] = tensor;
  return tensor;
}

DType OperatorCall::promote(std::initializer_list<size_t> operands) {
  std::vector<Operand> meeting;
  for (size_t k : operands) meeting.push_back(tensor(k));
  const DType dtype = common_dtype(trace_, meeting);
  for (size_t k : operands)
    if (dtype_of(trace_, tensors_[k]) != dtype) tensors_[k] = astype(trace_, tensors_[k], dtype);
  return dtype;
}

std::vector<TensorId> tensors_of(const OperatorCall& call) {
  std::vector<TensorId> all;
  for (size_t k = 0; k < call.operands().size(); ++k) all.push_back(call.tensor(k));
  return all;
}

size_t axis_of(const OperatorCall& call, size_t k, int64_t otherwise, std::string_view key) {
  return normalized_axis(call.attributes().integer(key, otherwise), call.rank(k), key);
}

std::vector<size_t> axes_of(const OperatorCall& call, size_t k, std::string_view key) {
  const std::optional<Shape> axes = call.attributes().integers(key);
  return axes ? normalized_axes(*axes, call.rank(k), key) : all_axes(call.rank(k));
}

void fail_shape(const OperatorCall& call, const std::string& what) {
  std::string text = what + " (shapes:";
  for (const Operand& o : call.operands())
    if (o.tensor.valid()) text += " " + to_string(shape_of(call.trace(), o.tensor));
  throw Error(ErrorCode::Shape, text + ")");
}

}  // namespace adjit::trace
