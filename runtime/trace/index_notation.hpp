// runtime/trace/index_notation.hpp -- tensor expressions by index: the builder behind aj.compute
// and aj.scatter.
//
// Worked example, C[i, j] = sum_k A[i, k] * B[k, j]:
//   IndexNotation n(trace);
//   AxisHandle i = n.axis(0, M), j = n.axis(0, N), k = n.axis(0, K);
//   ScalarExpr a = n.read(A, {{n.value(i), n.value(k)}}), b = n.read(B, {{n.value(k),
//   n.value(j)}}); ScalarExpr product = n.apply(Op::Mul, {{a, b}}); TensorId C = n.compute("C",
//   {{i, j}}, n.reduce(CombinerKind::Sum, product, {{k}}));
// which adds one stage with reduction axis k.
//
// Reductions may stand anywhere: compute() lifts each to a stage of its own over the axes it uses,
// guarded by the condition under which it is needed; a reduction that is the whole expression is
// the computed stage itself. A read under a select (or `where`) that its condition keeps in bounds
// carries that condition as its predicate.
//
// Types follow the rule of promotion.hpp. Literals are weak. So are axes and what is computed from
// axes and literals alone, but beside integers they stay int64, so that no index overflows. Weak
// floats are held as float64; where one is stored, it is created as float32.
// Expressions over half types are computed in float32 and rounded once, where they are stored.
//
// A builder refers to its trace and may serve any number of compute() calls; handles belong to
// their builder. Errors are prefixed with the trace's operation and source line.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/trace/promotion.hpp"
#include "runtime/trace/trace.hpp"
#include "runtime/trace/weak_scalar.hpp"

namespace adjit::trace {

/// An axis of one IndexNotation.
struct AxisHandle {
  uint32_t value = UINT32_MAX;
  bool operator==(const AxisHandle&) const = default;
};

/// A scalar expression of one IndexNotation.
struct ScalarExpr {
  uint32_t value = UINT32_MAX;
  bool valid() const { return value != UINT32_MAX; }
  bool operator==(const ScalarExpr&) const = default;
};

/// What a read does with an index that only the data tells.
enum class IndexMode : uint8_t {
  Error,  // out of range is an error at run time
  Clip,   // to the nearest end
  Wrap,   // modulo the extent
  Drop,   // reads 0
};

/// A reduction inside expressions (internal to the builder and lowering.cpp).
struct Reduction {
  Combiner combiner;           // Custom: expressions of the builder's pool
  std::vector<ExprId> bodies;  // ArgMax, ArgMin: value and payload
  std::vector<uint32_t> axes;  // builder axis numbers, outermost first
  ExprId where;                // invalid: everywhere
};

class IndexNotation {
 public:
  explicit IndexNotation(Trace& trace);

  // Leaves.

  /// An axis with lo <= value < hi; `hi` < lo raises ErrorCode::Shape. Used as an output axis of
  /// compute(), or by reduce().
  AxisHandle axis(int64_t lo, int64_t hi, std::string name = {});
  int64_t extent(AxisHandle axis) const;
  /// The axis as an int64 expression, weakly typed.
  ScalarExpr value(AxisHandle axis);
  /// A weakly typed literal.
  ScalarExpr literal(const WeakScalar& scalar);
  /// A constant that keeps its type.
  ScalarExpr constant(double value, DType dtype);
  /// tensor[index...]. Indices are integers (any width). A negative constant wraps as in NumPy; a
  /// constant out of range raises ErrorCode::Bounds with axis, index and extent; a wrong number of
  /// indices ErrorCode::Shape.
  ScalarExpr read(TensorId tensor, std::span<const ScalarExpr> index,
                  IndexMode mode = IndexMode::Error);

  // Operations.

  /// Any operation of runtime/expr/op.hpp with operands (arity checked), except leaves, select and
  /// cast.
  ScalarExpr apply(Op op, std::span<const ScalarExpr> operands);
  ScalarExpr apply(Op op, std::initializer_list<ScalarExpr> operands) {
    return apply(op, std::span<const ScalarExpr>(operands.begin(), operands.size()));
  }
  /// `condition ? a : b`; reads in a branch need to be in bounds only where the branch is taken.
  ScalarExpr select(ScalarExpr condition, ScalarExpr a, ScalarExpr b);
  ScalarExpr cast(ScalarExpr operand, DType dtype);
  /// What is stored of an expression.
  DType dtype(ScalarExpr expr) const;

  // Reductions.

  /// Sum, Product, Max, Min, Any, All, ArgMax, ArgMin over the axes (outermost first), where
  /// `where` holds. ArgMax and ArgMin give int64: the axis' value over one axis, the row-major
  /// position over several.
  ScalarExpr reduce(CombinerKind kind, ScalarExpr body, std::span<const AxisHandle> axes,
                    ScalarExpr where = {}, Ties ties = Ties::Even);
  /// Operand k of a custom reducer's combine expression: 0..n-1 left, n..2n-1 right.
  ScalarExpr argument(size_t number, DType dtype);
  /// An associative reducer over n-tuples: combine[k] over argument(0..2n-1); identity[k] constants
  /// or literals. One result per body.
  std::vector<ScalarExpr> reduce_custom(std::span<const ScalarExpr> bodies,
                                        std::span<const ScalarExpr> combine,
                                        std::span<const ScalarExpr> identity,
                                        std::span<const AxisHandle> axes, ScalarExpr where = {});

  // Stages.

  /// result[axes...] = body, of shape (extents of the axes). Raises ErrorCode::Invalid for an axis
  /// that is neither an output axis nor reduced, ErrorCode::Bounds for a read that can leave its
  /// tensor.
  TensorId compute(std::string_view name, std::span<const AxisHandle> axes, ScalarExpr body);
  /// Several results over the same axes: one tuple stage where no body is a reduction, else a stage
  /// each.
  std::vector<TensorId> compute(std::string_view name, std::span<const AxisHandle> axes,
                                std::span<const ScalarExpr> bodies);
  /// result[target...] (+)= value over all points of the axes. `kind`: Sum, Product, Max, Min, or
  /// None (the last writer in axis order wins). The result starts as `initial` when valid (same
  /// shape and dtype), else as the combiner's identity (0 for None). A target known to leave the
  /// shape raises ErrorCode::Bounds unless `out_of_range` says otherwise.
  TensorId scatter(std::string_view name, std::vector<int64_t> shape,
                   std::span<const AxisHandle> axes, std::span<const ScalarExpr> target,
                   ScalarExpr value, CombinerKind kind = CombinerKind::Sum, TensorId initial = {},
                   OutOfRange out_of_range = OutOfRange::Error, ScalarExpr where = {});

 private:
  friend class Lowering;
  friend class UnitLowering;
  struct Axis {
    int64_t lo = 0, hi = 0;
    std::string name;
  };
  /// `dtype` is the logical one (half types are held as float32 expressions); weak values are Bool,
  /// Int64 or Float64.
  struct Value {
    ExprId expr;
    DType dtype = DType::Bool;
    bool weak = false;
  };
  static OperandType type_of(const Value& value) { return {value.dtype, value.weak}; }
  /// Component `component` of reduction `reduction`, as it stands in an expression:
  /// Argument(kPlaceholder + number).
  struct Placeholder {
    uint32_t reduction = 0;
    uint32_t component = 0;
  };
  static constexpr uint64_t kPlaceholder = uint64_t{1} << 32;

  ScalarExpr add(ExprId expr, DType dtype, bool weak = false);
  const Value& at(ScalarExpr expr) const;
  /// The expression in that logical dtype; weak literals and narrower integers adapt.
  ExprId as(const Value& value, DType dtype);
  /// The logical type that operands agree on.
  OperandType common_type(std::string_view operation, std::span<const Value> operands) const;
  ExprId as_condition(ScalarExpr condition, std::string_view what);
  bool stays_inside(ExprId index, int64_t extent) const;
  ExprId checked_index(TensorId tensor, size_t dimension, const Value& index);
  std::vector<uint32_t> axis_numbers(std::span<const AxisHandle> axes) const;
  std::vector<ScalarExpr> add_reduction(Reduction reduction, std::span<const OperandType> types);
  ExprId position(std::span<const uint32_t> axes);

  Trace* trace_;
  ExprPool pool_;  // Axis(n): builder axis n minus its lo
  std::vector<Axis> axes_;
  std::vector<int64_t> extents_;  // of the axes: hi - lo
  std::vector<Value> values_;
  std::vector<Reduction> reductions_;
  std::vector<Placeholder> placeholders_;
};

}  // namespace adjit::trace
