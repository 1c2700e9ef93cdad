// runtime/trace/ops/views/triangle.cpp -- diagonals and triangles of matrices.
#include <algorithm>

#include "runtime/trace/ops/call/operator_call.hpp"
#include "runtime/trace/ops/reductions/reduction.hpp"
#include "runtime/trace/ops/stages/view.hpp"
#include "runtime/trace/ops/views/families.hpp"

namespace adjit::trace {
namespace {

// Zeros are never read: the read is guarded by the triangle.
std::vector<TensorId> triangle(OperatorCall& call, bool lower) {
  Trace& trace = call.trace();
  const int64_t k = call.attributes().integer("k", 0);
  const size_t rank = call.rank(0);
  if (rank < 2) fail_shape(call, "a triangle needs two dimensions");
  StageBuilder stage(trace, call.name(), call.shape(0));
  const std::vector<Formula> index = output_axes(stage);
  const Formula row = index[rank - 2], column = index[rank - 1];
  const Formula inside = lower ? column <= row + k : row + k <= column;
  return {stage.finish(stage.read_where(inside, call.tensor(0), index),
                       dtype_of(trace, call.tensor(0)))};
}
std::vector<TensorId> tril(OperatorCall& call) { return triangle(call, true); }
std::vector<TensorId> triu(OperatorCall& call) { return triangle(call, false); }

struct Diagonal {
  size_t rows, columns;
  int64_t row_start = 0, column_start = 0, extent = 0;
  Shape rest;  // the other extents, in order
};

Diagonal diagonal_of(const OperatorCall& call) {
  const Shape shape = call.shape(0);
  if (shape.size() < 2) fail_shape(call, "a diagonal needs two dimensions");
  const int64_t offset = call.attributes().integer("offset", 0);
  Diagonal d{axis_of(call, 0, 0, "axis1"), axis_of(call, 0, 1, "axis2"), 0, 0, 0, {}};
  if (d.rows == d.columns) throw Error(ErrorCode::Invalid, "axis1 and axis2 are the same");
  d.row_start = std::max<int64_t>(-Exact(offset), 0);
  d.column_start = std::max<int64_t>(offset, 0);
  d.extent = std::max<int64_t>(
      std::min(shape[d.rows] - d.row_start, shape[d.columns] - d.column_start), 0);
  for (size_t k = 0; k < shape.size(); ++k)
    if (k != d.rows && k != d.columns) d.rest.push_back(shape[k]);
  return d;
}

// The input point of position `along` on the diagonal; `others` are the remaining dimensions in
// order.
std::vector<Formula> point_on(const Diagonal& d, std::span<const Formula> others, Formula along) {
  std::vector<Formula> point;
  size_t next = 0;
  for (size_t k = 0; k < others.size() + 2; ++k) {
    if (k == d.rows) {
      point.push_back(along + d.row_start);
    } else if (k == d.columns) {
      point.push_back(along + d.column_start);
    } else {
      point.push_back(others[next++]);
    }
  }
  return point;
}

std::vector<TensorId> diagonal(OperatorCall& call) {
  const Diagonal d = diagonal_of(call);
  Shape shape = d.rest;
  shape.push_back(d.extent);
  return {view(call.trace(), call.name(), call.tensor(0), shape, [&](auto index) {
    return point_on(d, index.first(index.size() - 1), index.back());
  })};
}

std::vector<TensorId> trace_operator(OperatorCall& call) {
  const Diagonal d = diagonal_of(call);
  StageBuilder stage(call.trace(), call.name(), d.rest);
  const std::vector<Formula> others = output_axes(stage);
  const Formula along = stage.reduce(d.extent);
  const DType dtype = sum_dtype(call);
  const Formula element = stage.read(call.tensor(0), point_on(d, others, along));
  return {stage.finish(CombinerKind::Sum, element.cast(accumulator_of(dtype)), dtype)};
}

// The last dimension becomes a diagonal of a square matrix that is zero elsewhere.
std::vector<TensorId> diag_embed(OperatorCall& call) {
  Trace& trace = call.trace();
  const int64_t offset = call.attributes().integer("offset", 0);
  Shape shape = call.shape(0);
  if (shape.empty()) fail_shape(call, "a diagonal needs one dimension");
  const size_t rank = shape.size();
  shape.back() = Exact(shape.back()) + (offset < 0 ? -Exact(offset) : Exact(offset));
  shape.push_back(shape.back());
  StageBuilder stage(trace, call.name(), shape);
  const Formula row = stage.axis(rank - 1), column = stage.axis(rank);
  std::vector<Formula> index = output_axes(stage);
  index.pop_back();
  index[rank - 1] = offset >= 0 ? row : column;
  return {stage.finish(stage.read_where(row + offset == column, call.tensor(0), index),
                       dtype_of(trace, call.tensor(0)))};
}

const Operator kTriangleOperators[] = {
    {"tril", "(x, *, k=0)", "(..., M, N) -> (..., M, N)", "g in the triangle", tril},
    {"triu", "(x, *, k=0)", "(..., M, N) -> (..., M, N)", "g in the triangle", triu},
    {"diagonal", "(x, *, offset=0, axis1=0, axis2=1)", "(M, N) -> (min(M, N),)",
     "g on the diagonal", diagonal},
    {"trace", "(x, *, offset=0, axis1=0, axis2=1, dtype=None)", "(M, N) -> ()", "g on the diagonal",
     trace_operator},
    {"diag_embed", "(x, *, offset=0)", "(..., N) -> (..., N, N)", "g's diagonal", diag_embed},
};

}  // namespace

std::span<const Operator> triangle_operators() { return kTriangleOperators; }

}  // namespace adjit::trace
