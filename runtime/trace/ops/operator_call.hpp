// runtime/trace/ops/operator_call.hpp -- one call of an operator: its operands and attributes,
// checked as they are read.
//
// The signature is the single source of names: "(x, w, bias=None, *, stride=1)" declares two
// required tensors, an optional one and an attribute; "(tensors..., *, axis=0)" any number of
// tensors.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/process/json.hpp"
#include "runtime/trace/ops/operand.hpp"
#include "runtime/trace/ops/operator.hpp"
#include "runtime/trace/ops/shape.hpp"

namespace adjit::trace {

class OperatorCall {
 public:
  /// Binds inputs and "scalars" to the signature. ErrorCode::Invalid for a wrong number of operands
  /// and for attributes that the signature does not name.
  OperatorCall(Trace& trace, const Operator& op, std::span<const TensorId> inputs,
               const Json& attributes);

  Trace& trace() const { return trace_; }
  std::string_view name() const { return op_.name; }

  // Operands, by position in the signature.

  size_t operand_count() const { return operands_.size(); }
  const Operand& operand(size_t k) const;
  std::span<const Operand> operands() const { return operands_; }
  /// Operand k as a tensor: a scalar in its place becomes a 0-d tensor. Weak floats are cast to the
  /// float type of the other operands.
  TensorId tensor(size_t k) const;
  /// From here on tensor() gives these operands in the dtype that they agree on, which is returned.
  DType promote(std::initializer_list<size_t> operands);
  /// All operands as tensors.
  std::vector<TensorId> tensors() const;
  /// Whether a result of that type is weak: made of weak operands, and of none that are not (bools,
  /// and indices beside floats, do not count). One whose dtype was asked for is not.
  bool is_weak(DType result) const;
  bool has_operand(size_t k) const { return k < operands_.size() && operands_[k].given(); }
  /// A copy: the trace's own moves when a stage is added, which tensor() of a scalar operand does.
  Shape shape(size_t k) const { return trace_.shape(tensor(k)); }
  size_t rank(size_t k) const { return shape(k).size(); }

  // Attributes by name. A missing key or null is the default.

  bool has(std::string_view key) const;
  const Json* find(std::string_view key) const;  // nullptr when missing or null
  int64_t integer(std::string_view key) const;   // required
  int64_t integer(std::string_view key, int64_t otherwise) const;
  double real(std::string_view key, double otherwise) const;
  bool flag(std::string_view key, bool otherwise) const;
  std::string text(std::string_view key, std::string_view otherwise) const;
  /// An int or a list of ints, as a list.
  std::optional<Shape> integers(std::string_view key) const;
  /// `count` ints; a single int stands for all of them.
  Shape repeated(std::string_view key, size_t count, int64_t otherwise) const;
  std::optional<DType> dtype(std::string_view key) const;
  std::optional<WeakScalar> scalar(std::string_view key) const;
  /// "axis" of operand k, normalised: one axis.
  size_t axis_of(size_t k, int64_t otherwise, std::string_view key = "axis") const;
  /// "axis" of operand k as a set: all axes for null.
  std::vector<size_t> axes_of(size_t k, std::string_view key = "axis") const;

  /// Throws; operator and source line are prefixed where the call ends.
  [[noreturn]] void fail(ErrorCode code, const std::string& what) const { throw Error(code, what); }
  /// ErrorCode::Shape with the shapes of all operands appended.
  [[noreturn]] void fail_shape(const std::string& what) const;

 private:
  void bind(std::span<const TensorId> inputs);
  void check_attribute_names() const;
  Operand literal_of(const Json& entry) const;
  [[noreturn]] void fail_attribute(std::string_view key, std::string_view wanted) const;

  Trace& trace_;
  const Operator& op_;
  const Json& attributes_;
  std::vector<Operand> operands_;
  mutable std::vector<TensorId> tensors_;  // what tensor() gave; invalid: not asked for yet
};

/// An integer of JSON that int64 holds; nullopt for anything else.
std::optional<int64_t> integer_of(const Json& value);
/// A scalar of JSON, an integer beyond int64 as a float: bool, int, float, or "inf", "-inf", "nan";
/// nullopt for anything else.
std::optional<WeakScalar> scalar_of(const Json& value);

/// A signature taken apart.
struct OperatorSignature {
  struct Parameter {
    std::string_view name;
    bool optional = false;
  };
  std::vector<Parameter> tensors;
  bool variadic = false;  // the last tensor parameter stands for any number
  std::vector<std::string_view> attributes;
};
OperatorSignature parse_signature(std::string_view signature);

}  // namespace adjit::trace
