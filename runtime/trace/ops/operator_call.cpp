// runtime/trace/ops/operator_call.cpp -- binding operands to a signature, reading attributes.
#include "runtime/trace/ops/operator_call.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/process/json.hpp"
#include "runtime/trace/ops/elementwise.hpp"

namespace adjit::trace {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Splits at commas outside parentheses.
std::vector<std::string_view> split_parameters(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t k = 0; k <= text.size(); ++k) {
    if (k == text.size() || (text[k] == ',' && depth == 0)) {
      const std::string_view part = trimmed(text.substr(begin, k - begin));
      if (!part.empty()) parts.push_back(part);
      begin = k + 1;
    } else if (text[k] == '(') {
      ++depth;
    } else if (text[k] == ')') {
      --depth;
    }
  }
  return parts;
}

}  // namespace

OperatorSignature parse_signature(std::string_view signature) {
  OperatorSignature result;
  bool attributes = false;
  for (std::string_view part : split_parameters(signature.substr(1, signature.size() - 2))) {
    if (part == "*") {
      attributes = true;
      continue;
    }
    const size_t equals = part.find('=');
    std::string_view name = part.substr(0, equals);
    if (attributes) {
      result.attributes.push_back(name);
      continue;
    }
    if (name.ends_with("...")) {
      name.remove_suffix(3);
      result.variadic = true;
    }
    result.tensors.push_back({name, equals != std::string_view::npos});
  }
  return result;
}

std::optional<int64_t> integer_of(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX) return std::nullopt;
  return value.get<int64_t>();
}

std::optional<WeakScalar> scalar_of(const Json& value) {
  if (value.is_boolean()) return WeakScalar::of(value.get<bool>());
  if (const std::optional<int64_t> integer = integer_of(value)) return WeakScalar::of(*integer);
  // An int beyond int64 is a float: it meets floats only.
  if (value.is_number()) return WeakScalar::of(value.get<double>());
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (value == "inf") return WeakScalar::of(kInfinity);
  if (value == "-inf") return WeakScalar::of(-kInfinity);
  if (value == "nan") return WeakScalar::of(std::nan(""));
  return std::nullopt;
}

OperatorCall::OperatorCall(Trace& trace, const Operator& op, std::span<const TensorId> inputs,
                           const Json& attributes)
    : trace_(trace), op_(op), attributes_(attributes) {
  if (!attributes.is_object() && !attributes.is_null())
    fail(ErrorCode::Invalid, "attributes must be a JSON object");
  bind(inputs);
  check_attribute_names();
}

// A number is weak; {"dtype": "float64", "value": 0.1} is not.
Operand OperatorCall::literal_of(const Json& entry) const {
  const bool typed = entry.is_object() && entry.contains("dtype") && entry.contains("value") &&
                     entry["dtype"].is_string();
  const std::optional<WeakScalar> literal = scalar_of(typed ? entry["value"] : entry);
  if (!literal) fail_attribute("scalars", "numbers, bools, null or {dtype, value}");
  if (!typed) return *literal;
  const std::string name = entry["dtype"].get<std::string>();
  const std::optional<DType> dtype = dtype_from_name(name);
  if (!dtype) fail(ErrorCode::DType, "there is no dtype '" + name + "'");
  return {*literal, *dtype};
}

void OperatorCall::bind(std::span<const TensorId> inputs) {
  const OperatorSignature signature = parse_signature(op_.signature);
  const Json* scalars = find("scalars");
  const Json* optional = find("optional");
  if (scalars && !scalars->is_array()) fail_attribute("scalars", "a list");
  size_t next = 0;
  const auto take = [&](size_t position) -> Operand {
    if (scalars && position < scalars->size() && !(*scalars)[position].is_null()) {
      return literal_of((*scalars)[position]);
    }
    if (next < inputs.size()) return inputs[next++];
    return {};
  };
  for (size_t k = 0; k < signature.tensors.size(); ++k) {
    const OperatorSignature::Parameter& parameter = signature.tensors[k];
    if (signature.variadic && k + 1 == signature.tensors.size()) {
      const size_t scalar_count = scalars ? scalars->size() : 0;
      while (next < inputs.size() || operands_.size() < scalar_count)
        operands_.push_back(take(operands_.size()));
      break;
    }
    const bool named =
        !optional || !parameter.optional ||
        std::find(optional->begin(), optional->end(), parameter.name) != optional->end();
    operands_.push_back(named ? take(k) : Operand{});
    if (!operands_.back().given() && !parameter.optional)
      fail(ErrorCode::Invalid, "the operand '" + std::string(parameter.name) +
                                   "' is missing; the signature is " + std::string(op_.name) +
                                   std::string(op_.signature));
  }
  if (next < inputs.size())
    fail(ErrorCode::Invalid, std::to_string(inputs.size()) +
                                 " tensors are too many; the signature is " +
                                 std::string(op_.name) + std::string(op_.signature));
}

void OperatorCall::check_attribute_names() const {
  const OperatorSignature signature = parse_signature(op_.signature);
  for (const auto& [key, value] : attributes_.items()) {
    if (key == "scalars" || key == "optional") continue;
    if (std::ranges::find(signature.attributes, std::string_view(key)) ==
        signature.attributes.end())
      fail(ErrorCode::Invalid, "there is no parameter '" + key + "'; the signature is " +
                                   std::string(op_.name) + std::string(op_.signature));
  }
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
    if (trace_.dtype(tensors_[k]) != dtype) tensors_[k] = astype(trace_, tensors_[k], dtype);
  return dtype;
}

bool OperatorCall::is_weak(DType result) const {
  if (has("dtype") || result == DType::Bool) return false;
  bool weak = false;
  for (const Operand& o : operands_) {
    if (!o.given()) continue;
    const OperandType type = type_of(trace_, o);
    if (is_float(type.dtype) && (!type.weak || !is_float(result))) return false;
    if (is_integer(type.dtype) && !type.weak && !is_float(result)) return false;
    weak |= type.weak && type.dtype != DType::Bool;
  }
  return weak;
}

std::vector<TensorId> OperatorCall::tensors() const {
  std::vector<TensorId> all;
  for (size_t k = 0; k < operands_.size(); ++k) all.push_back(tensor(k));
  return all;
}

const Json* OperatorCall::find(std::string_view key) const {
  if (!attributes_.is_object()) return nullptr;
  const auto at = attributes_.find(key);
  return at == attributes_.end() || at->is_null() ? nullptr : &*at;
}

bool OperatorCall::has(std::string_view key) const { return find(key) != nullptr; }

void OperatorCall::fail_attribute(std::string_view key, std::string_view wanted) const {
  const Json* value = find(key);
  fail(ErrorCode::Invalid, std::string(key) + " must be " + std::string(wanted) +
                               (value ? ", not " + value->dump() : "; it is missing"));
}

void OperatorCall::fail_shape(const std::string& what) const {
  std::string text = what + " (shapes:";
  for (const Operand& o : operands_)
    if (o.tensor.valid()) text += " " + to_string(trace_.shape(o.tensor));
  throw Error(ErrorCode::Shape, text + ")");
}

int64_t OperatorCall::integer(std::string_view key) const {
  const Json* value = find(key);
  const std::optional<int64_t> given = value ? integer_of(*value) : std::nullopt;
  if (!given) fail_attribute(key, "an int of 64 bits");
  return *given;
}

int64_t OperatorCall::integer(std::string_view key, int64_t otherwise) const {
  return has(key) ? integer(key) : otherwise;
}

double OperatorCall::real(std::string_view key, double otherwise) const {
  const Json* value = find(key);
  if (!value) return otherwise;
  const std::optional<WeakScalar> literal = scalar_of(*value);
  if (!literal || literal->kind == WeakScalar::Kind::Bool) fail_attribute(key, "a number");
  return literal->value();
}

bool OperatorCall::flag(std::string_view key, bool otherwise) const {
  const Json* value = find(key);
  if (!value) return otherwise;
  if (!value->is_boolean()) fail_attribute(key, "True or False");
  return value->get<bool>();
}

std::string OperatorCall::text(std::string_view key, std::string_view otherwise) const {
  const Json* value = find(key);
  if (!value) return std::string(otherwise);
  if (!value->is_string()) fail_attribute(key, "a string");
  return value->get<std::string>();
}

std::optional<Shape> OperatorCall::integers(std::string_view key) const {
  const Json* value = find(key);
  if (!value) return std::nullopt;
  if (const std::optional<int64_t> one = integer_of(*value)) return Shape{*one};
  if (!value->is_array()) fail_attribute(key, "an int or a list of ints");
  Shape result;
  for (const Json& item : *value) {
    const std::optional<int64_t> one = integer_of(item);
    if (!one) fail_attribute(key, "an int or a list of ints of 64 bits");
    result.push_back(*one);
  }
  return result;
}

Shape OperatorCall::repeated(std::string_view key, size_t count, int64_t otherwise) const {
  const Shape given = integers(key).value_or(Shape{otherwise});
  if (given.size() == count) return given;
  if (given.size() != 1) fail_attribute(key, "an int or " + std::to_string(count) + " ints");
  return Shape(count, given[0]);
}

std::optional<DType> OperatorCall::dtype(std::string_view key) const {
  if (!has(key)) return std::nullopt;
  const std::string name = text(key, "");
  if (const std::optional<DType> found = dtype_from_name(name)) return found;
  fail(ErrorCode::DType, "there is no dtype '" + name + "'");
}

std::optional<WeakScalar> OperatorCall::scalar(std::string_view key) const {
  const Json* value = find(key);
  if (!value) return std::nullopt;
  const std::optional<WeakScalar> literal = scalar_of(*value);
  if (!literal) fail_attribute(key, "a number");
  return literal;
}

size_t OperatorCall::axis_of(size_t k, int64_t otherwise, std::string_view key) const {
  return normalized_axis(integer(key, otherwise), rank(k), key);
}

std::vector<size_t> OperatorCall::axes_of(size_t k, std::string_view key) const {
  const std::optional<Shape> axes = integers(key);
  return axes ? normalized_axes(*axes, rank(k), key) : all_axes(rank(k));
}

}  // namespace adjit::trace
