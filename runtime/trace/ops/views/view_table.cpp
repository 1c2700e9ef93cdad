// runtime/trace/ops/views/view_table.cpp -- operators that only rename indices.
#include <algorithm>
#include <numeric>

#include "runtime/trace/ops/call/operator_call.hpp"
#include "runtime/trace/ops/stages/elementwise.hpp"
#include "runtime/trace/ops/stages/view.hpp"
#include "runtime/trace/ops/views/families.hpp"

namespace adjit::trace {
namespace {

// One extent may be -1: what is left over.
Shape resolved_shape(const OperatorCall& call, Shape shape) {
  const int64_t count = element_count(call.shape(0));
  const auto unknown = std::ranges::find(shape, -1);
  for (int64_t extent : shape)
    if (extent < -1 || (extent == -1 && std::ranges::count(shape, -1) > 1))
      throw Error(ErrorCode::Shape,
                  "shape " + to_string(shape) + " may hold one -1 and no other negative extent");
  if (unknown == shape.end()) return shape;
  *unknown = 1;
  const int64_t rest = element_count(shape);
  if (rest == 0 || count % rest != 0) {
    *unknown = -1;
    fail_shape(call, "the -1 of " + to_string(shape) + " has no solution");
  }
  *unknown = count / rest;
  return shape;
}

Shape required_shape(const OperatorCall& call) {
  const std::optional<Shape> shape = call.attributes().integers("shape");
  if (!shape) throw Error(ErrorCode::Invalid, "shape is missing");
  return *shape;
}

std::vector<TensorId> reshape_operator(OperatorCall& call) {
  return {reshape(call.trace(), call.tensor(0), resolved_shape(call, required_shape(call)))};
}

std::vector<TensorId> reshape_like(OperatorCall& call) {
  return {reshape(call.trace(), call.tensor(0), call.shape(1))};
}

std::vector<TensorId> flatten(OperatorCall& call) {
  const Shape shape = call.shape(0);
  const size_t rank = std::max<size_t>(shape.size(), 1);
  const size_t begin =
      normalized_axis(call.attributes().integer("start_dim", 0), rank, "start_dim");
  const size_t end = normalized_axis(call.attributes().integer("end_dim", -1), rank, "end_dim");
  if (begin > end) throw Error(ErrorCode::Invalid, "start_dim lies behind end_dim");
  Shape flat;
  Exact merged = 1;
  for (size_t k = 0; k < shape.size(); ++k) {
    if (k < begin || k > end) flat.push_back(shape[k]);
    if (k >= begin && k <= end) merged *= shape[k];
    if (k == end) flat.push_back(merged);
  }
  if (shape.empty()) flat = {1};
  return {reshape(call.trace(), call.tensor(0), flat)};
}

std::vector<TensorId> permute_dims(OperatorCall& call) {
  const size_t rank = call.rank(0);
  std::vector<size_t> order(rank);
  std::iota(order.rbegin(), order.rend(), size_t{0});  // reversed, for axes=None
  if (const std::optional<Shape> axes = call.attributes().integers("axes"))
    order = normalized_axes(*axes, rank, "axes");
  if (order.size() != rank)
    fail_shape(call, "axes must name each of the " + std::to_string(rank) + " dimensions once");
  return {permute(call.trace(), call.tensor(0), order)};
}

std::vector<TensorId> matrix_transpose(OperatorCall& call) {
  const size_t rank = call.rank(0);
  if (rank < 2) fail_shape(call, "a matrix needs two dimensions");
  std::vector<size_t> order = all_axes(rank);
  std::swap(order[rank - 1], order[rank - 2]);
  return {permute(call.trace(), call.tensor(0), order)};
}

std::vector<TensorId> swapaxes(OperatorCall& call) {
  std::vector<size_t> order = all_axes(call.rank(0));
  std::swap(order[axis_of(call, 0, 0, "axis1")], order[axis_of(call, 0, 1, "axis2")]);
  return {permute(call.trace(), call.tensor(0), order)};
}

std::vector<TensorId> moveaxis(OperatorCall& call) {
  const size_t rank = call.rank(0);
  const auto list = [&](std::string_view key) {
    const std::optional<Shape> axes = call.attributes().integers(key);
    if (!axes) throw Error(ErrorCode::Invalid, std::string(key) + " is missing");
    return normalized_axes(*axes, rank, key);
  };
  const std::vector<size_t> source = list("source"), destination = list("destination");
  if (source.size() != destination.size())
    throw Error(ErrorCode::Invalid, "source and destination name different numbers of axes");
  std::vector<size_t> order(rank, rank), rest;
  for (size_t k = 0; k < rank; ++k)
    if (std::ranges::find(source, k) == source.end()) rest.push_back(k);
  for (size_t k = 0; k < source.size(); ++k) order[destination[k]] = source[k];
  size_t next = 0;
  for (size_t& axis : order)
    if (axis == rank) axis = rest[next++];
  return {permute(call.trace(), call.tensor(0), order)};
}

std::vector<TensorId> expand_dims_operator(OperatorCall& call) {
  const Shape axes = call.attributes().integers("axis").value_or(Shape{0});
  return {
      expand_dims(call.trace(), call.tensor(0), normalized_axes(axes, call.rank(0) + axes.size()))};
}

std::vector<TensorId> squeeze_operator(OperatorCall& call) {
  std::vector<size_t> axes;
  if (call.attributes().has("axis")) {
    axes = axes_of(call, 0);
  } else {
    for (size_t k = 0; k < call.rank(0); ++k)
      if (call.shape(0)[k] == 1) axes.push_back(k);
  }
  return {squeeze(call.trace(), call.tensor(0), axes)};
}

std::vector<TensorId> broadcast_to_operator(OperatorCall& call) {
  return {broadcast_to(call.trace(), call.tensor(0), required_shape(call))};
}

std::vector<TensorId> broadcast_to_like(OperatorCall& call) {
  return {broadcast_to(call.trace(), call.tensor(0), call.shape(1))};
}

std::vector<TensorId> broadcast_arrays(OperatorCall& call) {
  const Shape shape = common_shape(call.trace(), call.operands());
  std::vector<TensorId> results;
  for (TensorId x : tensors_of(call)) results.push_back(broadcast_to(call.trace(), x, shape));
  return results;
}

std::vector<TensorId> flip(OperatorCall& call) {
  const Shape shape = call.shape(0);
  const std::vector<size_t> axes = axes_of(call, 0);
  return {view(call.trace(), call.name(), call.tensor(0), shape, [&](auto index) {
    std::vector<Formula> from(index.begin(), index.end());
    for (size_t axis : axes) from[axis] = (shape[axis] - 1) - from[axis];
    return from;
  })};
}

// Along the axes, or of the flattened tensor for axis=None.
std::vector<TensorId> roll(OperatorCall& call) {
  Trace& trace = call.trace();
  const Shape shape = call.shape(0);
  const bool flat = !call.attributes().has("axis");
  const TensorId x = flat ? reshape(trace, call.tensor(0), {element_count(shape)}) : call.tensor(0);
  const Shape own = shape_of(trace, x);
  const std::vector<size_t> axes = flat ? std::vector<size_t>{0} : axes_of(call, 0);
  const Shape shifts = call.attributes().repeated("shift", axes.size(), 0);
  const TensorId rolled = view(trace, call.name(), x, own, [&](auto index) {
    std::vector<Formula> from(index.begin(), index.end());
    for (size_t k = 0; k < axes.size(); ++k) {
      const int64_t extent = own[axes[k]];
      if (extent > 0)
        from[axes[k]] =
            (from[axes[k]] + floor_mod(-Exact(floor_mod(shifts[k], extent)), extent)) % extent;
    }
    return from;
  });
  return {flat ? reshape(trace, rolled, shape) : rolled};
}

std::vector<TensorId> tile(OperatorCall& call) {
  Shape shape = call.shape(0);
  Shape repetitions = call.attributes().integers("repetitions").value_or(Shape{1});
  while (repetitions.size() < shape.size()) repetitions.insert(repetitions.begin(), 1);
  const size_t added = repetitions.size() - shape.size();
  Shape result = repetitions;
  for (size_t k = 0; k < shape.size(); ++k) result[added + k] = Exact(result[added + k]) * shape[k];
  return {view(call.trace(), call.name(), call.tensor(0), result, [&](auto index) {
    std::vector<Formula> from;
    for (size_t k = 0; k < shape.size(); ++k) {
      const Formula i = index[added + k];
      from.push_back(shape[k] == 0 ? i.like(0) : i % shape[k]);
    }
    return from;
  })};
}

// Each element `repeats` times along an axis, or of the flattened tensor for axis=None.
std::vector<TensorId> repeat(OperatorCall& call) {
  Trace& trace = call.trace();
  const int64_t repeats = call.attributes().integer("repeats");
  if (repeats < 0) throw Error(ErrorCode::Invalid, "repeats must not be negative");
  TensorId x = call.tensor(0);
  size_t axis = 0;
  if (call.attributes().has("axis")) {
    axis = axis_of(call, 0, 0);
  } else {
    x = reshape(trace, x, {element_count(call.shape(0))});
  }
  Shape shape = shape_of(trace, x);
  shape[axis] = Exact(shape[axis]) * repeats;
  return {view(trace, call.name(), x, shape, [&](auto index) {
    std::vector<Formula> from(index.begin(), index.end());
    if (repeats > 0) from[axis] = floor_div(from[axis], repeats);
    return from;
  })};
}

// Depth-to-space: channel c r r + dy r + dx of pixel (h, w) becomes pixel (h r + dy, w r + dx) of
// channel c.
std::vector<TensorId> pixel_shuffle(OperatorCall& call) {
  const int64_t r = call.attributes().integer("upscale_factor");
  Shape shape = call.shape(0);
  const size_t rank = shape.size();
  // r * r may exceed 64 bits, but divides no number of channels then.
  if (rank < 3 || r < 1 || shape[rank - 3] % r != 0 || shape[rank - 3] / r % r != 0)
    fail_shape(call, "pixel_shuffle needs (..., C*r*r, H, W)");
  shape[rank - 3] /= r;
  shape[rank - 3] /= r;
  shape[rank - 2] = Exact(shape[rank - 2]) * r;
  shape[rank - 1] = Exact(shape[rank - 1]) * r;
  const int64_t square = Exact(r) * r;
  return {view(call.trace(), call.name(), call.tensor(0), shape, [&](auto index) {
    std::vector<Formula> from(index.begin(), index.end());
    const Formula c = index[rank - 3], h = index[rank - 2], w = index[rank - 1];
    from[rank - 3] = c * square + h % r * r + w % r;
    from[rank - 2] = floor_div(h, r);
    from[rank - 1] = floor_div(w, r);
    return from;
  })};
}

std::vector<TensorId> pixel_unshuffle(OperatorCall& call) {
  const int64_t r = call.attributes().integer("downscale_factor");
  Shape shape = call.shape(0);
  const size_t rank = shape.size();
  if (rank < 3 || r < 1 || shape[rank - 2] % r != 0 || shape[rank - 1] % r != 0)
    fail_shape(call, "pixel_unshuffle needs (..., C, H*r, W*r)");
  const int64_t square = Exact(r) * r;
  shape[rank - 3] = Exact(shape[rank - 3]) * square;
  shape[rank - 2] /= r;
  shape[rank - 1] /= r;
  return {view(call.trace(), call.name(), call.tensor(0), shape, [&](auto index) {
    std::vector<Formula> from(index.begin(), index.end());
    const Formula c = index[rank - 3], h = index[rank - 2], w = index[rank - 1];
    from[rank - 3] = floor_div(c, square);
    from[rank - 2] = h * r + floor_div(c, r) % r;
    from[rank - 1] = w * r + c % r;
    return from;
  })};
}

constexpr std::string_view kViewBack = "g through the inverse renaming";
constexpr std::string_view kSums = "g summed over the copies";

const Operator kViewOperators[] = {
    {"reshape", "(x, *, shape)", "(...) -> shape; one extent may be -1", kViewBack,
     reshape_operator},
    {"reshape_like", "(x, like)", "(...) -> like's", "as reshape; zero to like", reshape_like},
    {"flatten", "(x, *, start_dim=0, end_dim=-1)", "the dimensions merged", kViewBack, flatten},
    {"permute_dims", "(x, *, axes=None)", "reordered; reversed for None", kViewBack, permute_dims},
    {"transpose", "(x, *, axes=None)", "reordered; reversed for None", kViewBack, permute_dims},
    {"matrix_transpose", "(x)", "(..., M, N) -> (..., N, M)", kViewBack, matrix_transpose},
    {"swapaxes", "(x, *, axis1, axis2)", "two dimensions exchanged", kViewBack, swapaxes},
    {"moveaxis", "(x, *, source, destination)", "reordered", kViewBack, moveaxis},
    {"expand_dims", "(x, *, axis=0)", "extents 1 inserted", kViewBack, expand_dims_operator},
    {"squeeze", "(x, *, axis=None)", "extents 1 removed", kViewBack, squeeze_operator},
    {"broadcast_to", "(x, *, shape)", "(...) -> shape", kSums, broadcast_to_operator},
    {"broadcast_to_like", "(x, like)", "(...) -> like's", "as broadcast_to; zero to like",
     broadcast_to_like},
    {"broadcast_arrays", "(tensors...)", "all to the common shape", kSums, broadcast_arrays,
     Operator::Results::Several},
    {"flip", "(x, *, axis=None)", "(...) -> (...)", kViewBack, flip},
    {"roll", "(x, *, shift, axis=None)", "(...) -> (...)", kViewBack, roll},
    {"tile", "(x, *, repetitions)", "extents multiplied", kSums, tile},
    {"repeat", "(x, *, repeats, axis=None)", "one extent multiplied", kSums, repeat},
    {"nn.pixel_shuffle", "(x, *, upscale_factor)", "(..., C*r*r, H, W) -> (..., C, H*r, W*r)",
     kViewBack, pixel_shuffle},
    {"nn.pixel_unshuffle", "(x, *, downscale_factor)", "(..., C, H*r, W*r) -> (..., C*r*r, H, W)",
     kViewBack, pixel_unshuffle},
};

}  // namespace

std::span<const Operator> view_operators() { return kViewOperators; }

}  // namespace adjit::trace
