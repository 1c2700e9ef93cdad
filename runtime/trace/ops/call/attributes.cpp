// runtime/trace/ops/call/attributes.cpp -- the attributes of one call, checked as they are read.
#include "runtime/trace/ops/call/attributes.hpp"

#include <cmath>
#include <limits>

#include "runtime/expr/error.hpp"

namespace adjit::trace {

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

Attributes::Attributes(const Json& values) : values_(values) {
  if (!values.is_object() && !values.is_null())
    throw Error(ErrorCode::Invalid, "attributes must be a JSON object");
}

const Json* Attributes::find(std::string_view key) const {
  if (!values_.is_object()) return nullptr;
  const auto at = values_.find(key);
  return at == values_.end() || at->is_null() ? nullptr : &*at;
}

void fail_attribute(const Attributes& attributes, std::string_view key, std::string_view wanted) {
  const Json* value = attributes.find(key);
  throw Error(ErrorCode::Invalid, std::string(key) + " must be " + std::string(wanted) +
                                      (value ? ", not " + value->dump() : "; it is missing"));
}

int64_t Attributes::integer(std::string_view key) const {
  const Json* value = find(key);
  const std::optional<int64_t> given = value ? integer_of(*value) : std::nullopt;
  if (!given) fail_attribute(*this, key, "an int of 64 bits");
  return *given;
}

int64_t Attributes::integer(std::string_view key, int64_t otherwise) const {
  return has(key) ? integer(key) : otherwise;
}

double Attributes::real(std::string_view key, double otherwise) const {
  const Json* value = find(key);
  if (!value) return otherwise;
  const std::optional<WeakScalar> literal = scalar_of(*value);
  if (!literal || literal->kind == WeakScalar::Kind::Bool) fail_attribute(*this, key, "a number");
  return literal->value();
}

bool Attributes::flag(std::string_view key, bool otherwise) const {
  const Json* value = find(key);
  if (!value) return otherwise;
  if (!value->is_boolean()) fail_attribute(*this, key, "True or False");
  return value->get<bool>();
}

std::string Attributes::text(std::string_view key, std::string_view otherwise) const {
  const Json* value = find(key);
  if (!value) return std::string(otherwise);
  if (!value->is_string()) fail_attribute(*this, key, "a string");
  return value->get<std::string>();
}

std::optional<Shape> Attributes::integers(std::string_view key) const {
  const Json* value = find(key);
  if (!value) return std::nullopt;
  if (const std::optional<int64_t> one = integer_of(*value)) return Shape{*one};
  if (!value->is_array()) fail_attribute(*this, key, "an int or a list of ints");
  Shape result;
  for (const Json& item : *value) {
    const std::optional<int64_t> one = integer_of(item);
    if (!one) fail_attribute(*this, key, "an int or a list of ints of 64 bits");
    result.push_back(*one);
  }
  return result;
}

Shape Attributes::repeated(std::string_view key, size_t count, int64_t otherwise) const {
  Shape given = integers(key).value_or(Shape{otherwise});
  if (given.size() == count) return given;
  if (given.size() != 1) fail_attribute(*this, key, "an int or " + std::to_string(count) + " ints");
  return Shape(count, given[0]);
}

std::optional<DType> Attributes::dtype(std::string_view key) const {
  if (!has(key)) return std::nullopt;
  const std::string name = text(key, "");
  if (const std::optional<DType> found = dtype_from_name(name)) return found;
  throw Error(ErrorCode::DType, "there is no dtype '" + name + "'");
}

std::optional<WeakScalar> Attributes::scalar(std::string_view key) const {
  const Json* value = find(key);
  if (!value) return std::nullopt;
  const std::optional<WeakScalar> literal = scalar_of(*value);
  if (!literal) fail_attribute(*this, key, "a number");
  return literal;
}

}  // namespace adjit::trace
