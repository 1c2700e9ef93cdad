// runtime/trace/ops/indexing/gathering.cpp -- reads and writes at positions that data tell: take,
// gather, scatter, one_hot.
#include <algorithm>

#include "runtime/process/json.hpp"
#include "runtime/trace/ops/call/operator_call.hpp"
#include "runtime/trace/ops/indexing/families.hpp"
#include "runtime/trace/ops/stages/elementwise.hpp"
#include "runtime/trace/ops/stages/view.hpp"

namespace adjit::trace {
namespace {

// An index from data, made legal as `mode` says: "raise" counts negative ones from the end and
// leaves the rest to be checked at run time.
Formula legal_index(const OperatorCall& call, Formula i, int64_t extent) {
  const std::string mode = call.attributes().text("mode", "raise");
  i = i.cast(DType::Int64);
  if (mode == "clip") return maximum(minimum(i, extent - 1), 0);
  if (mode == "wrap") return i % extent;
  if (mode != "raise" && mode != "error")
    throw Error(ErrorCode::Invalid, "mode is 'raise', 'clip' or 'wrap', not '" + mode + "'");
  return select(i < 0, i + extent, i);
}

void require_not_empty(const Shape& indices, int64_t extent) {
  if (extent == 0 && element_count(indices) > 0)
    throw Error(ErrorCode::Bounds, "no index is in range: the indexed axis is empty");
}

// indices as a tensor, or as an attribute: then checked now.
TensorId indices_of(OperatorCall& call, int64_t extent) {
  if (call.has_operand(1)) {
    require_integer(call.trace(), call.tensor(1), "indices");
    return call.tensor(1);
  }
  const Json* given = call.attributes().find("indices");
  const std::optional<Shape> list = call.attributes().integers("indices");
  if (!list) throw Error(ErrorCode::Invalid, "indices are missing");
  std::vector<std::byte> bytes(list->size() * sizeof(int64_t));
  for (size_t k = 0; k < list->size(); ++k) {
    const int64_t i = (*list)[k];
    if (call.attributes().text("mode", "raise") == "raise" && (i < -extent || i >= extent))
      throw Error(ErrorCode::Bounds, "index " + std::to_string(i) +
                                         " is out of range for an axis of extent " +
                                         std::to_string(extent));
    std::copy_n(reinterpret_cast<const std::byte*>(&i), sizeof i,
                bytes.begin() + static_cast<long>(k * sizeof i));
  }
  const Shape shape = given->is_array() ? Shape{static_cast<int64_t>(list->size())} : Shape{};
  return add_constant(call.trace(), "indices", DType::Int64, shape, std::move(bytes));
}

// result[before, indices..., behind] = x[before, indices[...], behind].
std::vector<TensorId> take(OperatorCall& call) {
  Trace& trace = call.trace();
  TensorId x = call.tensor(0);
  if (!call.attributes().has("axis")) x = reshape(trace, x, {element_count(call.shape(0))});
  const Shape shape = shape_of(trace, x);
  const size_t axis = call.attributes().has("axis") ? axis_of(call, 0, 0) : 0;
  const TensorId indices = indices_of(call, shape[axis]);
  const Shape positions = shape_of(trace, indices);
  require_not_empty(positions, shape[axis]);
  Shape result(shape.begin(), shape.begin() + static_cast<long>(axis));
  result.insert(result.end(), positions.begin(), positions.end());
  result.insert(result.end(), shape.begin() + static_cast<long>(axis) + 1, shape.end());
  StageBuilder stage(trace, call.name(), result);
  std::vector<Formula> at, index;
  for (size_t k = 0; k < positions.size(); ++k) at.push_back(stage.axis(axis + k));
  const Formula i = legal_index(call, stage.read(indices, at), shape[axis]);
  for (size_t k = 0; k < shape.size(); ++k)
    index.push_back(k < axis    ? stage.axis(k)
                    : k == axis ? i
                                : stage.axis(k + positions.size() - 1));
  return {stage.finish(stage.read(x, index), dtype_of(trace, x))};
}

// result[i...] = x[i... with dimension `axis` replaced by indices[i...]].
std::vector<TensorId> take_along_axis(OperatorCall& call) {
  Trace& trace = call.trace();
  const TensorId x = call.tensor(0), indices = call.tensor(1);
  require_integer(trace, indices, "indices");
  const size_t axis = axis_of(call, 0, -1);
  if (call.rank(0) != call.rank(1)) fail_shape(call, "x and indices need the same rank");
  for (size_t k = 0; k < call.rank(0); ++k)
    if (k != axis && call.shape(1)[k] > call.shape(0)[k])
      fail_shape(call, "indices exceed x beside the indexed axis");
  require_not_empty(call.shape(1), call.shape(0)[axis]);
  StageBuilder stage(trace, call.name(), call.shape(1));
  std::vector<Formula> index = output_axes(stage);
  index[axis] = legal_index(call, stage.read(indices, index), call.shape(0)[axis]);
  return {stage.finish(stage.read(x, index), dtype_of(trace, x))};
}

// x with src[i...] combined into position (i... with dimension `axis` replaced by indices[i...]).
std::vector<TensorId> scatter_along_axis(OperatorCall& call, CombinerKind kind) {
  Trace& trace = call.trace();
  call.promote({0, 2});
  const TensorId x = call.tensor(0), indices = call.tensor(1), source = call.tensor(2);
  require_integer(trace, indices, "indices");
  const size_t axis = axis_of(call, 0, -1);
  if (call.rank(0) != call.rank(1) || call.shape(1) != call.shape(2))
    fail_shape(call, "scatter needs x and indices of one rank, indices and src of one shape");
  Domain domain;
  domain.extents = call.shape(1);
  ExprPool& pool = trace.pool();
  std::vector<ExprId> at, target;
  for (size_t k = 0; k < domain.rank(); ++k) at.push_back(pool.axis(k));
  const Formula i = legal_index(call, {pool, read(trace, indices, at)}, call.shape(0)[axis]);
  target = at;
  target[axis] = i.id();
  const ExprId value = pool.read(source, dtype_of(trace, source), at);
  return {add_scatter(trace, call.name(), call.shape(0), domain, kind, value, target, x,
                      OutOfRange::Error)};
}
std::vector<TensorId> scatter(OperatorCall& call) {
  return scatter_along_axis(call, CombinerKind::None);
}
std::vector<TensorId> scatter_add(OperatorCall& call) {
  return scatter_along_axis(call, CombinerKind::Sum);
}

// x with source rows added at indices along an axis.
std::vector<TensorId> index_add(OperatorCall& call) {
  Trace& trace = call.trace();
  call.promote({0, 2});
  const TensorId x = call.tensor(0), indices = call.tensor(1), source = call.tensor(2);
  require_integer(trace, indices, "indices");
  const size_t axis = axis_of(call, 0, 0);
  Shape wanted = call.shape(0);
  if (call.rank(1) != 1) fail_shape(call, "indices must be a vector");
  wanted[axis] = call.shape(1)[0];
  if (wanted != call.shape(2)) fail_shape(call, "source must have shape " + to_string(wanted));
  Domain domain;
  domain.extents = wanted;
  ExprPool& pool = trace.pool();
  std::vector<ExprId> at;
  for (size_t k = 0; k < domain.rank(); ++k) at.push_back(pool.axis(k));
  const ExprId value = pool.read(source, dtype_of(trace, source), at);
  const ExprId row = read(trace, indices, std::span(&at[axis], 1));
  std::vector<ExprId> target = at;
  target[axis] = legal_index(call, {pool, row}, call.shape(0)[axis]).id();
  return {add_scatter(trace, call.name(), call.shape(0), domain, CombinerKind::Sum, value, target,
                      x, OutOfRange::Error)};
}

// A select, not a gather: its derivative (there is none) and its code need no data-dependent
// address.
std::vector<TensorId> one_hot(OperatorCall& call) {
  Trace& trace = call.trace();
  require_integer(trace, call.tensor(0), "x");
  const int64_t classes = call.attributes().integer("num_classes");
  const DType dtype = call.attributes().dtype("dtype").value_or(DType::Int64);
  Shape shape = call.shape(0);
  const size_t axis = normalized_axis(call.attributes().integer("axis", -1), shape.size() + 1);
  shape.insert(shape.begin() + static_cast<long>(axis), classes);
  StageBuilder stage(trace, call.name(), shape);
  std::vector<Formula> index = output_axes(stage);
  const Formula own = index[axis];
  index.erase(index.begin() + static_cast<long>(axis));
  const Formula hot = stage.read(call.tensor(0), index).cast(DType::Int64) == own;
  return {stage.finish(hot.cast(accumulator_of(dtype)), dtype)};
}

constexpr std::string_view kScatters = "g added up at the elements read; none to indices";

const Operator kGatheringOperators[] = {
    {"take", "(x, indices=None, *, axis=None, mode='raise', indices=None)",
     "(A, N, B), (I...) -> (A, I..., B)", kScatters, take},
    {"take_along_axis", "(x, indices, *, axis=-1, mode='raise')", "(A, N), (A, I) -> (A, I)",
     kScatters, take_along_axis},
    {"gather", "(x, indices, *, axis=-1, mode='raise')", "(A, N), (A, I) -> (A, I)", kScatters,
     take_along_axis},
    {"scatter", "(x, indices, src, *, axis=-1, mode='raise')", "(A, N), (A, I), (A, I) -> (A, N)",
     "g where kept; g at the written position to src", scatter},
    {"scatter_add", "(x, indices, src, *, axis=-1, mode='raise')",
     "(A, N), (A, I), (A, I) -> (A, N)", "g; g at the position to src", scatter_add},
    {"index_add", "(x, indices, source, *, axis=0, mode='raise')", "(N, B), (I,), (I, B) -> (N, B)",
     "g; g at the position to source", index_add},
    {"nn.one_hot", "(x, *, num_classes, dtype='int64', axis=-1)", "(...) -> (..., num_classes)",
     "none: x is an integer; a class that does not exist has no 1, as in JAX", one_hot},
};

}  // namespace

std::span<const Operator> gathering_operators() { return kGatheringOperators; }

}  // namespace adjit::trace
