// runtime/trace/ops/views/joining.cpp -- tensors joined into one, and one split into several.
#include <algorithm>

#include "runtime/process/json.hpp"
#include "runtime/trace/ops/call/operator_call.hpp"
#include "runtime/trace/ops/stages/elementwise.hpp"
#include "runtime/trace/ops/stages/view.hpp"
#include "runtime/trace/ops/views/families.hpp"

namespace adjit::trace {
namespace {

// One stage: a chain of selects over guarded reads, part k where begin[k] <= i < begin[k + 1].
TensorId join(OperatorCall& call, const Shape& shape, size_t axis, const Shape& begins,
              const std::function<std::vector<Formula>(std::span<const Formula>, Formula)>& index) {
  Trace& trace = call.trace();
  const DType dtype = common_dtype(trace, call.operands());
  StageBuilder stage(trace, call.name(), shape);
  const std::vector<Formula> axes = output_axes(stage);
  const Formula i = axes[axis];
  const std::vector<TensorId> parts = tensors_of(call);
  Formula joined = constant(stage, 0, accumulator_of(dtype));
  for (size_t k = parts.size(); k-- > 0;) {
    if (begins[k] == begins[k + 1]) continue;  // an empty part
    const bool first = begins[k] == 0, last = begins[k + 1] == shape[axis];
    const Formula inside = first ? i < begins[k + 1] : i >= begins[k] && i < begins[k + 1];
    const std::vector<Formula> at = index(axes, i - begins[k]);
    const Formula value =
        first && last ? stage.read(parts[k], at) : stage.read_where(inside, parts[k], at);
    const Formula typed = value.cast(accumulator_of(dtype));
    joined = last ? typed : select(i < begins[k + 1], typed, joined);
  }
  return stage.finish(joined, dtype);
}

std::vector<TensorId> concat(OperatorCall& call) {
  if (call.operands().size() == 0)
    throw Error(ErrorCode::Invalid, "concat needs at least one tensor");
  Trace& trace = call.trace();
  Shape shape = call.shape(0);
  if (shape.empty()) fail_shape(call, "scalars cannot be joined: use stack");
  const size_t axis = axis_of(call, 0, 0);
  Shape begins{0};
  for (TensorId part : tensors_of(call)) {
    Shape other = shape_of(trace, part);
    const int64_t extent = other.size() == shape.size() ? other[axis] : 0;
    if (other.size() == shape.size()) other[axis] = shape[axis];
    if (other != shape)
      fail_shape(call, "concat along axis " + std::to_string(axis) +
                           " needs equal extents everywhere else");
    begins.push_back(Exact(begins.back()) + extent);
  }
  shape[axis] = begins.back();
  return {join(call, shape, axis, begins, [&](std::span<const Formula> axes, Formula inside) {
    std::vector<Formula> index(axes.begin(), axes.end());
    index[axis] = inside;
    return index;
  })};
}

std::vector<TensorId> stack(OperatorCall& call) {
  if (call.operands().size() == 0)
    throw Error(ErrorCode::Invalid, "stack needs at least one tensor");
  Shape shape = call.shape(0);
  for (TensorId part : tensors_of(call))
    if (shape_of(call.trace(), part) != shape) fail_shape(call, "stack needs equal shapes");
  const size_t axis = normalized_axis(call.attributes().integer("axis", 0), shape.size() + 1);
  Shape begins;
  for (size_t k = 0; k <= call.operands().size(); ++k) begins.push_back(static_cast<int64_t>(k));
  shape.insert(shape.begin() + static_cast<long>(axis),
               static_cast<int64_t>(call.operands().size()));
  return {join(call, shape, axis, begins, [&](std::span<const Formula> axes, Formula) {
    std::vector<Formula> index(axes.begin(), axes.end());
    index.erase(index.begin() + static_cast<long>(axis));
    return index;
  })};
}

// One stage a part: so many that tracing them would seem to hang are refused.
void require_few(const OperatorCall& call, int64_t parts) {
  constexpr int64_t kMostParts = 100'000;
  if (parts > kMostParts)
    fail_shape(call, "this makes " + std::to_string(parts) + " tensors, more than " +
                         std::to_string(kMostParts) + ": index or reshape the tensor instead");
}

// numpy.split: a number of equal sections, or the positions to split at.
std::vector<TensorId> split(OperatorCall& call) {
  const size_t axis = axis_of(call, 0, 0);
  const int64_t extent = call.shape(0)[axis];
  const Json* given = call.attributes().find("sections_or_indices");
  Shape cuts{0};
  if (given && given->is_number_integer()) {
    const int64_t sections = call.attributes().integer("sections_or_indices");
    require_few(call, sections);
    if (sections < 1 || extent % sections != 0)
      fail_shape(call, "axis " + std::to_string(axis) + " of extent " + std::to_string(extent) +
                           " does not split into " + std::to_string(sections) + " equal sections");
    for (int64_t k = 1; k <= sections; ++k) cuts.push_back(k * (extent / sections));
  } else {
    const std::optional<Shape> indices = call.attributes().integers("sections_or_indices");
    if (!indices) throw Error(ErrorCode::Invalid, "sections_or_indices is missing");
    for (int64_t cut : *indices)
      cuts.push_back(std::clamp<int64_t>(cut < 0 ? cut + extent : cut, 0, extent));
    cuts.push_back(extent);
  }
  std::vector<TensorId> parts;
  for (size_t k = 0; k + 1 < cuts.size(); ++k)
    parts.push_back(slice(call.trace(), call.tensor(0), axis, cuts[k],
                          std::max<int64_t>(cuts[k + 1] - cuts[k], 0), 1));
  return parts;
}

std::vector<TensorId> unstack(OperatorCall& call) {
  const size_t axis = axis_of(call, 0, 0);
  const Shape shape = call.shape(0);
  Shape rest = shape;
  rest.erase(rest.begin() + static_cast<long>(axis));
  require_few(call, shape[axis]);
  std::vector<TensorId> parts;
  for (int64_t k = 0; k < shape[axis]; ++k)
    parts.push_back(view(call.trace(), call.name(), call.tensor(0), rest, [&](auto index) {
      std::vector<Formula> from(index.begin(), index.end());
      from.insert(from.begin() + static_cast<long>(axis),
                  Formula(call.trace().pool(), call.trace().pool().constant_int(k)));
      return from;
    }));
  return parts;
}

// indexing "xy" exchanges the first two dimensions.
std::vector<TensorId> meshgrid(OperatorCall& call) {
  const std::vector<TensorId> vectors = tensors_of(call);
  const bool swapped = call.attributes().text("indexing", "xy") == "xy" && vectors.size() >= 2;
  const auto place = [&](size_t k) { return swapped && k < 2 ? 1 - k : k; };
  Shape shape(vectors.size());
  for (size_t k = 0; k < vectors.size(); ++k) {
    if (call.rank(k) != 1) fail_shape(call, "meshgrid takes vectors");
    shape[place(k)] = call.shape(k)[0];
  }
  std::vector<TensorId> grids;
  for (size_t k = 0; k < vectors.size(); ++k)
    grids.push_back(view(call.trace(), call.name(), vectors[k], shape,
                         [&](auto index) { return std::vector<Formula>{index[place(k)]}; }));
  return grids;
}

const Operator kJoiningOperators[] = {
    {"concat", "(tensors..., *, axis=0)", "(..., A, ...), (..., B, ...) -> (..., A+B, ...)",
     "each part gets its slice of g", concat},
    {"stack", "(tensors..., *, axis=0)", "n times (...) -> (n, ...)",
     "each part gets its slice of g", stack},
    {"split", "(x, *, sections_or_indices, axis=0)", "(..., A+B, ...) -> (..., A, ...), ...",
     "the parts joined, zero where one has no cotangent", split, Operator::Results::Several},
    {"unstack", "(x, *, axis=0)", "(n, ...) -> n times (...)", "the parts stacked", unstack,
     Operator::Results::Several},
    {"meshgrid", "(tensors..., *, indexing='xy')", "(A,), (B,) -> (B, A) twice, or (A, B)",
     "g summed over the other dimensions", meshgrid, Operator::Results::Several},
};

}  // namespace

std::span<const Operator> joining_operators() { return kJoiningOperators; }

}  // namespace adjit::trace
