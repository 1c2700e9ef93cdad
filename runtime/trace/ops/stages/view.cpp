// runtime/trace/ops/stages/view.cpp -- stages that only rename indices.
#include "runtime/trace/ops/stages/view.hpp"

#include <algorithm>
#include <string>

namespace adjit::trace {

TensorId view(Trace& trace, std::string_view name, TensorId x, Shape shape, const IndexMap& map) {
  StageBuilder stage(trace, name, std::move(shape));
  const std::vector<Formula> index = map(output_axes(stage));
  // Elements are moved as they are, half types too.
  std::vector<ExprId> ids;
  for (const Formula& coordinate : index) ids.push_back(coordinate.id());
  const ExprId element = trace.pool().read(x, dtype_of(trace, x), ids);
  const TensorId result = stage.finish({trace.pool(), element});
  if (trace.is_weak(x)) trace.set_weak(result);
  return result;
}

namespace {

struct Group {
  size_t from_begin, from_end, to_begin, to_end;
};

// Runs of dimensions with equal products, as short as possible. Extents of 1 join any run.
std::vector<Group> groups_of(const Shape& from, const Shape& to) {
  std::vector<Group> groups;
  size_t f = 0, t = 0;
  while (f < from.size() || t < to.size()) {
    Group g{f, f, t, t};
    Exact a = 1, b = 1;
    if (f < from.size()) a = from[f++];
    if (t < to.size()) b = to[t++];
    while (a != b) {
      if (a < b) {
        a *= from[f++];
      } else {
        b *= to[t++];
      }
    }
    g.from_end = f;
    g.to_end = t;
    groups.push_back(g);
  }
  return groups;
}

}  // namespace

std::vector<Formula> reshaped_index(const Shape& from, const Shape& to,
                                    std::span<const Formula> index, Formula zero) {
  std::vector<Formula> result(from.size(), zero);
  if (element_count(from) == 0 || element_count(to) == 0) return result;  // nothing is ever read
  // Dimensions of extent 1 are read at 0 and take no part.
  Shape large_from, large_to;
  std::vector<size_t> place_from, place_to;
  for (size_t k = 0; k < from.size(); ++k)
    if (from[k] != 1) large_from.push_back(from[k]), place_from.push_back(k);
  for (size_t k = 0; k < to.size(); ++k)
    if (to[k] != 1) large_to.push_back(to[k]), place_to.push_back(k);
  for (const Group& g : groups_of(large_from, large_to)) {
    Formula linear = zero;
    for (size_t t = g.to_begin; t < g.to_end; ++t)
      linear = linear * large_to[t] + index[place_to[t]];
    int64_t stride = 1;
    for (size_t f = g.from_end; f-- > g.from_begin;) {
      const bool leading = f == g.from_begin;
      const Formula quotient = floor_div(linear, stride);
      result[place_from[f]] = leading ? quotient : quotient % large_from[f];
      stride *= large_from[f];
    }
  }
  return result;
}

TensorId reshape(Trace& trace, TensorId x, const Shape& shape) {
  const Shape from = shape_of(trace, x);
  if (element_count(from) != element_count(shape))
    throw Error(ErrorCode::Shape, "a tensor of shape " + to_string(from) + " has " +
                                      std::to_string(element_count(from)) +
                                      " elements and cannot become " + to_string(shape) +
                                      ", which has " + std::to_string(element_count(shape)));
  if (from == shape) return x;
  return view(trace, "reshape", x, shape, [&](std::span<const Formula> index) {
    return reshaped_index(from, shape, index, {trace.pool(), trace.pool().constant_int(0)});
  });
}

TensorId permute(Trace& trace, TensorId x, std::span<const size_t> order) {
  Shape shape;
  for (size_t axis : order) shape.push_back(shape_of(trace, x)[axis]);
  return view(trace, "permute", x, shape, [&](std::span<const Formula> index) {
    std::vector<Formula> from(index.begin(), index.end());
    for (size_t k = 0; k < order.size(); ++k) from[order[k]] = index[k];
    return from;
  });
}

TensorId broadcast_to(Trace& trace, TensorId x, const Shape& shape) {
  const Shape from = shape_of(trace, x);
  if (from == shape) return x;
  if (from.size() > shape.size() || broadcast(from, shape) != shape)
    throw Error(ErrorCode::Shape, "a tensor of shape " + to_string(from) +
                                      " does not broadcast to " + to_string(shape));
  return view(trace, "broadcast_to", x, shape, [&](std::span<const Formula> index) {
    std::vector<Formula> result;
    for (size_t k = 0; k < from.size(); ++k) {
      const Formula own = index[shape.size() - from.size() + k];
      result.push_back(from[k] == 1 ? own.like(0) : own);
    }
    return result;
  });
}

TensorId expand_dims(Trace& trace, TensorId x, std::span<const size_t> positions) {
  Shape shape;
  const size_t rank = rank_of(trace, x) + positions.size();
  std::vector<size_t> kept;
  for (size_t k = 0; k < rank; ++k) {
    if (std::ranges::find(positions, k) != positions.end()) {
      shape.push_back(1);
    } else {
      shape.push_back(shape_of(trace, x)[kept.size()]);
      kept.push_back(k);
    }
  }
  return view(trace, "expand_dims", x, shape, [&](std::span<const Formula> index) {
    std::vector<Formula> result;
    for (size_t k : kept) result.push_back(index[k]);
    return result;
  });
}

TensorId squeeze(Trace& trace, TensorId x, std::span<const size_t> axes) {
  const Shape from = shape_of(trace, x);
  Shape shape;
  for (size_t k = 0; k < from.size(); ++k) {
    const bool goes = std::ranges::find(axes, k) != axes.end();
    if (goes && from[k] != 1)
      throw Error(ErrorCode::Shape, "axis " + std::to_string(k) + " of shape " + to_string(from) +
                                        " has extent " + std::to_string(from[k]) +
                                        ", only an extent of 1 can be squeezed");
    if (!goes) shape.push_back(from[k]);
  }
  return reshape(trace, x, shape);
}

TensorId slice(Trace& trace, TensorId x, size_t axis, int64_t start, int64_t extent, int64_t step) {
  Shape shape = shape_of(trace, x);
  shape[axis] = extent;
  return view(trace, "slice", x, shape, [&](std::span<const Formula> index) {
    std::vector<Formula> from(index.begin(), index.end());
    from[axis] = from[axis] * step + start;
    return from;
  });
}

}  // namespace adjit::trace
