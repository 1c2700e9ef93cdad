// runtime/trace/index_notation.hpp -- tensor expressions by index: what is behind
// aj.compute and aj.scatter.
//
// Worked example, C[i, j] = sum_k A[i, k] * B[k, j]:
//   IndexNotation n(trace);
//   AxisHandle i = add_axis(n, 0, M), j = add_axis(n, 0, N), k = add_axis(n, 0, K);
//   ScalarExpr a = read(n, A, {{axis_value(n, i), axis_value(n, k)}});
//   ScalarExpr b = read(n, B, {{axis_value(n, k), axis_value(n, j)}});
//   ScalarExpr product = apply(n, Op::Mul, {{a, b}});
//   TensorId C = compute(n, "C", {{i, j}}, reduce(n, CombinerKind::Sum, product, {{k}}));
// which adds one stage with reduction axis k (reduce: index_reduction.hpp, compute: lowering.hpp).
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
// A notation refers to its trace and may serve any number of compute() calls (lowering.hpp);
// handles belong to their notation. Errors are prefixed with the trace's operation and source line.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
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

/// An axis of a notation: lo <= value < hi.
struct NotationAxis {
  int64_t lo = 0, hi = 0;
  std::string name;  // what the user calls it, or ""
};

/// What a ScalarExpr stands for. `dtype` is the logical one (half types are held as float32
/// expressions); weak values are Bool, Int64 or Float64.
struct NotationValue {
  ExprId expr;
  DType dtype = DType::Bool;
  bool weak = false;
};

/// A reduction inside expressions.
struct Reduction {
  Combiner combiner;           // Custom: expressions of the notation's pool
  std::vector<ExprId> bodies;  // ArgMax, ArgMin: value and payload
  std::vector<uint32_t> axes;  // numbers of axes, outermost first
  ExprId where;                // invalid: everywhere
};

/// One component of a reduction, as it stands in an expression: Argument(kPlaceholder + number).
struct Placeholder {
  uint32_t reduction = 0;
  uint32_t component = 0;
};
inline constexpr uint64_t kPlaceholder = uint64_t{1} << 32;

/// What handles are numbers of. The functions below and those of index_reduction.hpp add to it.
struct IndexNotation {
  explicit IndexNotation(Trace& traced) : trace(traced) {}

  Trace& trace;
  ExprPool pool;  // Axis(n): axis n minus its lo
  std::vector<NotationAxis> axes;
  std::vector<int64_t> extents;  // of the axes: hi - lo
  std::vector<NotationValue> values;
  std::vector<Reduction> reductions;
  std::vector<Placeholder> placeholders;
};

// Leaves.

/// An axis with lo <= value < hi; `hi` < lo raises ErrorCode::Shape. Used as an output axis of
/// compute(), or by reduce().
AxisHandle add_axis(IndexNotation& n, int64_t lo, int64_t hi, std::string name = {});
int64_t extent_of(const IndexNotation& n, AxisHandle axis);
/// The axis as an int64 expression, weakly typed.
ScalarExpr axis_value(IndexNotation& n, AxisHandle axis);
/// A weakly typed literal.
ScalarExpr literal(IndexNotation& n, const WeakScalar& scalar);
/// A constant that keeps its type.
ScalarExpr constant(IndexNotation& n, double value, DType dtype);
/// tensor[index...]. Indices are integers (any width). A negative constant wraps as in NumPy; a
/// constant out of range raises ErrorCode::Bounds with axis, index and extent; a wrong number of
/// indices ErrorCode::Shape.
ScalarExpr read(IndexNotation& n, TensorId tensor, std::span<const ScalarExpr> index,
                IndexMode mode = IndexMode::Error);

// Operations.

/// Any operation of runtime/expr/op.hpp with operands (arity checked), except leaves, select and
/// cast.
ScalarExpr apply(IndexNotation& n, Op op, std::span<const ScalarExpr> operands);
inline ScalarExpr apply(IndexNotation& n, Op op, std::initializer_list<ScalarExpr> operands) {
  return apply(n, op, std::span<const ScalarExpr>(operands.begin(), operands.size()));
}
/// `condition ? a : b`; reads in a branch need to be in bounds only where the branch is taken.
ScalarExpr select(IndexNotation& n, ScalarExpr condition, ScalarExpr a, ScalarExpr b);
ScalarExpr cast(IndexNotation& n, ScalarExpr operand, DType dtype);
/// What is stored of an expression.
DType dtype_of(const IndexNotation& n, ScalarExpr expr);

// What handles stand for: for reductions and for lowering.

inline OperandType type_of(const NotationValue& value) { return {value.dtype, value.weak}; }
ScalarExpr add_value(IndexNotation& n, const NotationValue& value);
/// ErrorCode::Invalid for a handle that is not of this notation.
const NotationValue& value_of(const IndexNotation& n, ScalarExpr expr);
/// The expression in that logical dtype; weak literals and narrower integers adapt.
ExprId brought_to(IndexNotation& n, const NotationValue& value, DType dtype);
/// ErrorCode::DType, naming `what`, for an expression that is not bool.
ExprId condition_of(const IndexNotation& n, ScalarExpr condition, std::string_view what);
/// ErrorCode::Invalid for an axis that is not of this notation, or is given twice.
std::vector<uint32_t> axis_numbers(const IndexNotation& n, std::span<const AxisHandle> axes);
/// The component of a reduction that a node stands for, if it does.
std::optional<Placeholder> placeholder_of(const IndexNotation& n, ExprId node);

}  // namespace adjit::trace
