// adjit/tensor.hpp -- traces, traced tensors, operators on them.
#pragma once

#include <concepts>
#include <initializer_list>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attributes.hpp"
#include "computation.hpp"

// A trace and its tensors, axes and expressions are used by one thread at a time. Every function
// that adds to a trace takes the line it stands in, which messages and stages then name.
namespace adjit::inline cpp {

using Where = std::source_location;

class Axis;
class Expr;
class ExprOperand;

/// What a read or scatter does with an index that only the data tells, and that is out of range.
enum class IndexMode { Error, Clip, Wrap, Drop };

/// A C++ number as an operand: a literal, which takes the dtype of what it meets.
template <class T>
concept Number = std::is_arithmetic_v<T>;

namespace detail {

inline void mark(adjit_trace* trace, const Where& where, const char* operation) {
  check(adjit_trace_set_source(trace, where.file_name(), static_cast<int32_t>(where.line()),
                               operation));
}

/// The trace that all of them belong to; InvalidError when they are of several traces.
template <class Range>
std::shared_ptr<adjit_trace> common_trace(const Range& parts, const char* operation) {
  std::shared_ptr<adjit_trace> trace;
  for (const auto& part : parts) {
    if (!part.trace()) continue;
    if (trace && trace != part.trace())
      throw InvalidError(std::string(operation) +
                         ": the operands belong to different traces; pass what is needed from "
                         "another trace as an input, or call its computation");
    trace = part.trace();
  }
  if (!trace)
    throw InvalidError(std::string(operation) +
                       ": no operand belongs to a trace; make one an input or a constant");
  return trace;
}

inline const char* name_of(IndexMode mode) {
  constexpr const char* kNames[] = {"error", "clip", "wrap", "drop"};
  return kNames[static_cast<size_t>(mode)];
}

}  // namespace detail

/// A value of a trace: dtype and shape are known, elements are not. Keeps its trace alive.
class Tensor {
 public:
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  size_t rank() const { return shape_.size(); }

  /// Index notation: the element at these indices (axes, expressions, numbers).
  template <std::convertible_to<ExprOperand>... Index>
  Expr operator()(const Index&... index) const;
  Expr at(const std::vector<ExprOperand>& index, IndexMode mode,
          Where where = Where::current()) const;
  /// Slice `k` of the leading dimension; negative ones count from the end.
  Tensor operator[](int64_t k) const;
  Tensor astype(DType dtype, Where where = Where::current()) const;

  const std::shared_ptr<adjit_trace>& trace() const { return trace_; }
  adjit_tensor id() const { return id_; }
  /// Tensor `id` of a trace of the C interface.
  Tensor(std::shared_ptr<adjit_trace> trace, adjit_tensor id) : trace_(std::move(trace)), id_(id) {
    adjit_dtype dtype = ADJIT_BOOL;
    int32_t rank = 0;
    const int64_t* shape = nullptr;
    detail::check(adjit_trace_tensor_info(trace_.get(), id_, &dtype, &rank, &shape));
    dtype_ = static_cast<DType>(dtype);
    shape_.assign(shape, shape + rank);
  }

 private:
  std::shared_ptr<adjit_trace> trace_;
  adjit_tensor id_;
  DType dtype_ = DType::Bool;
  Shape shape_;
};

/// An operand of an operator, with the line where it is written: a tensor, or a number.
class Operand {
 public:
  Operand(const Tensor& tensor, Where where = Where::current())  // NOLINT: operands convert
      : tensor_(tensor), where_(where) {}
  template <Number T>
  Operand(T value, Where where = Where::current())  // NOLINT
      : literal_(value), where_(where) {}

  const std::optional<Tensor>& tensor() const { return tensor_; }
  const Attribute& literal() const { return literal_; }
  std::shared_ptr<adjit_trace> trace() const { return tensor_ ? tensor_->trace() : nullptr; }
  const Where& where() const { return where_; }

 private:
  std::optional<Tensor> tensor_;
  Attribute literal_ = nullptr;
  Where where_;
};

namespace detail {

inline std::vector<adjit_tensor> ids(std::span<const Tensor> tensors) {
  std::vector<adjit_tensor> list;
  for (const Tensor& tensor : tensors) list.push_back(tensor.id());
  return list;
}

inline std::vector<Tensor> tensors(const std::shared_ptr<adjit_trace>& trace,
                                   std::span<const adjit_tensor> ids) {
  std::vector<Tensor> list;
  for (adjit_tensor id : ids) list.emplace_back(trace, id);
  return list;
}

inline std::vector<Tensor> apply(const std::shared_ptr<adjit_trace>& trace, const std::string& name,
                                 const std::vector<adjit_tensor>& inputs,
                                 const Attributes& attributes, const Where& where) {
  mark(trace.get(), where, name.c_str());
  std::vector<adjit_tensor> results(4096);  // as many as any operator may give
  int32_t made = count(results);
  check(adjit_trace_operator(trace.get(), name.c_str(), count(inputs), inputs.data(),
                             attributes.json().c_str(), &made, results.data()));
  return tensors(trace, std::span(results).first(static_cast<size_t>(made)));
}

}  // namespace detail

/// An operator by its name in docs/operators.md ("matmul", "nn.conv2d"), with all its results.
inline std::vector<Tensor> apply_all(const std::string& name, const std::vector<Operand>& operands,
                                     Attributes attributes = {}, Where where = Where::current()) {
  const std::shared_ptr<adjit_trace> trace = detail::common_trace(operands, name.c_str());
  std::vector<adjit_tensor> inputs;
  std::vector<Attribute> literals;  // null where a tensor stands
  for (const Operand& operand : operands) {
    if (operand.tensor()) inputs.push_back(operand.tensor()->id());
    literals.push_back(operand.literal());
  }
  if (inputs.size() < operands.size()) attributes.set("scalars", Attribute::list(literals));
  return detail::apply(trace, name, inputs, attributes, where);
}

/// The same for an operator with one result: apply("nn.conv2d", {x, w}, {{"stride", 2}}).
inline Tensor apply(const std::string& name, const std::vector<Operand>& operands,
                    const Attributes& attributes = {}, Where where = Where::current()) {
  std::vector<Tensor> results = apply_all(name, operands, attributes, where);
  if (results.size() != 1)
    throw InvalidError(name + " gives " + std::to_string(results.size()) +
                       " results; use apply_all");
  return results[0];
}

inline Tensor Tensor::astype(DType dtype, Where where) const {
  return apply("astype", {*this}, {{"dtype", dtype}}, where);
}
inline Tensor Tensor::operator[](int64_t k) const {
  return apply("getitem", {*this}, {{"items", {k}}});
}

// Arithmetic, element by element with broadcasting. `/` divides; `%` has the divisor's sign, as in
// Python. Comparisons, `&&`, `||` and `!` give tensors of bool.
#define ADJIT_BINARY(sign, name)                                    \
  inline Tensor operator sign(const Operand& a, const Operand& b) { \
    return apply(name, {a, b}, {}, a.where());                      \
  }
ADJIT_BINARY(+, "add")
ADJIT_BINARY(-, "subtract")
ADJIT_BINARY(*, "multiply")
ADJIT_BINARY(/, "divide")
ADJIT_BINARY(%, "remainder")
ADJIT_BINARY(==, "equal")
ADJIT_BINARY(!=, "not_equal")
ADJIT_BINARY(<, "less")
ADJIT_BINARY(<=, "less_equal")
ADJIT_BINARY(>, "greater")
ADJIT_BINARY(>=, "greater_equal")
ADJIT_BINARY(&&, "logical_and")
ADJIT_BINARY(||, "logical_or")
ADJIT_BINARY(&, "bitwise_and")
ADJIT_BINARY(|, "bitwise_or")
ADJIT_BINARY(^, "bitwise_xor")
#undef ADJIT_BINARY
inline Tensor operator-(const Operand& a) { return apply("negative", {a}, {}, a.where()); }
inline Tensor operator!(const Operand& a) { return apply("logical_not", {a}, {}, a.where()); }
inline Tensor operator~(const Operand& a) { return apply("bitwise_invert", {a}, {}, a.where()); }

/// A computation under construction.
class Trace {
 public:
  explicit Trace(const std::string& name = "main")
      : handle_(detail::made<adjit_trace>(adjit_trace_destroy, [&](adjit_trace** made) {
          return adjit_trace_create(name.c_str(), made);
        })) {}

  /// The next parameter.
  Tensor input(const std::string& name, DType dtype, const Shape& shape) const {
    return input(name, dtype, shape, false);
  }
  /// The next parameter, a number whose dtype adapts to what it meets.
  Tensor weak_input(const std::string& name, DType dtype) const {
    return input(name, dtype, {}, true);
  }
  /// A constant with a copy of the data.
  Tensor constant(const ConstView& data, const std::string& name = "c") const {
    const DLTensor tensor = data.tensor();
    adjit_tensor id = ADJIT_NONE;
    detail::check(adjit_trace_constant(get(), name.c_str(), &tensor, &id));
    return {handle_, id};
  }
  /// An operator without operands: apply("zeros", {{"shape", {2, 3}}}).
  Tensor apply(const std::string& name, const Attributes& attributes,
               Where where = Where::current()) const {
    return detail::apply(handle_, name, {}, attributes, where).at(0);
  }

  /// An axis of the index notation, lo <= value < hi.
  Axis axis(int64_t lo, int64_t hi, const std::string& name = "") const;
  Axis axis(int64_t extent, const std::string& name = "") const;
  /// result[i, j, ...] = body(i, j, ...), with one axis an extent: compute({m, n}, [&](Axis i, Axis
  /// j) { ... }).
  template <size_t kRank, class Body>
  Tensor compute(const int64_t (&extents)[kRank], Body&& body,
                 Where where = Where::current()) const;

  /// Ends the trace.
  Computation finish(const std::vector<Tensor>& outputs) const {
    for (const Tensor& output : outputs)
      if (output.trace() != handle_)
        throw InvalidError("an output of the computation belongs to another trace");
    const std::vector<adjit_tensor> ids = detail::ids(outputs);
    adjit_computation* made = nullptr;
    detail::check(adjit_trace_finish(get(), detail::count(ids), ids.data(), &made));
    return Computation::adopt(made);
  }
  adjit_trace* get() const { return handle_.get(); }

 private:
  Tensor input(const std::string& name, DType dtype, const Shape& shape, bool weak) const {
    adjit_tensor id = ADJIT_NONE;
    detail::check(adjit_trace_input(get(), name.c_str(), static_cast<adjit_dtype>(dtype),
                                    detail::count(shape), shape.data(), weak, &id));
    return {handle_, id};
  }

  std::shared_ptr<adjit_trace> handle_;
};

}  // namespace adjit::inline cpp
