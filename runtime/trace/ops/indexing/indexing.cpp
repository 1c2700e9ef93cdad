// runtime/trace/ops/indexing/indexing.cpp -- x[...]: integers, slices, new axes, ellipsis and index
// tensors, as NumPy has them.
#include <algorithm>
#include <string>
#include <variant>

#include "runtime/process/json.hpp"
#include "runtime/trace/ops/call/operator_call.hpp"
#include "runtime/trace/ops/indexing/families.hpp"
#include "runtime/trace/ops/stages/elementwise.hpp"
#include "runtime/trace/ops/stages/view.hpp"

namespace adjit::trace {
namespace {

struct Range {
  int64_t start = 0, extent = 0, step = 1;
};

// Python's slice over an extent; null bounds are nullopt.
Range resolve_slice(std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step,
                    int64_t extent) {
  if (step == 0) throw Error(ErrorCode::Invalid, "the step of a slice must not be 0");
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
  const auto bound = [&](std::optional<int64_t> b, int64_t otherwise) {
    if (!b) return otherwise;
    return std::clamp(*b < 0 ? *b + extent : *b, low, high);
  };
  const int64_t from = bound(start, step > 0 ? low : high), to = bound(stop, step > 0 ? high : low);
  // The step's magnitude matters up to the extent: that of INT64_MIN is not representable.
  const int64_t down = -std::max(step, -INT64_MAX);
  const int64_t count = step > 0 ? ceil_div(to - from, step) : ceil_div(from - to, down);
  return {from, std::max<int64_t>(count, 0), count > 1 ? step : 1};
}

std::optional<int64_t> bound_of(const Json& value) {
  if (value.is_null()) return std::nullopt;
  const std::optional<int64_t> bound = integer_of(value);
  if (!bound) throw Error(ErrorCode::Invalid, "the bounds of a slice are ints of 64 bits or None");
  return bound;
}

// One item of the subscript, resolved against the dimension it meets.
struct Integer {
  size_t dimension;
  int64_t value;
};
struct Slice {
  size_t dimension;
  Range range;
};
struct NewAxis {};
struct IndexTensor {
  size_t dimension;
  TensorId tensor;
};
using Item = std::variant<Integer, Slice, NewAxis, IndexTensor>;

Item resolve_item(const OperatorCall& call, const Json& item, size_t dimension) {
  const Shape shape = call.shape(0);
  const int64_t extent = shape[dimension];
  if (const std::optional<int64_t> given = integer_of(item)) {
    const int64_t value = *given;
    if (value < -extent || value >= extent)
      throw Error(ErrorCode::Bounds, "index " + std::to_string(value) +
                                         " is out of range for axis " + std::to_string(dimension) +
                                         " of extent " + std::to_string(extent) + " (shape " +
                                         to_string(shape) + ")");
    return Integer{dimension, value < 0 ? value + extent : value};
  }
  if (item.is_array() && item.size() == 3) {
    const std::optional<int64_t> step = bound_of(item[2]);
    return Slice{dimension,
                 resolve_slice(bound_of(item[0]), bound_of(item[1]), step.value_or(1), extent)};
  }
  if (item.is_object() && item.contains("tensor")) {
    const size_t number = item["tensor"].get<size_t>() + 1;  // operand 0 is x
    if (number >= call.operands().size())
      throw Error(ErrorCode::Invalid, "an index tensor is missing");
    const TensorId index = call.tensor(number);
    if (dtype_of(call.trace(), index) == DType::Bool)
      throw Error(ErrorCode::DType,
                  "a boolean index would make a shape that depends on data: use where");
    require_integer(call.trace(), index, "an index tensor");
    return IndexTensor{dimension, index};
  }
  throw Error(ErrorCode::Invalid, "'" + item.dump() + "' is not a subscript");
}

bool takes_dimension(const Json& item) { return item != "newaxis" && item != "..."; }

std::vector<Item> resolve_items(const OperatorCall& call) {
  const Json* items = call.attributes().find("items");
  if (!items || !items->is_array()) throw Error(ErrorCode::Invalid, "items must be a list");
  const size_t rank = call.rank(0);
  const size_t named = static_cast<size_t>(std::ranges::count_if(*items, takes_dimension));
  const auto ellipses = std::ranges::count(*items, "...");
  if (named > rank)
    fail_shape(call, std::to_string(named) + " indices are too many for a tensor of rank " +
                         std::to_string(rank));
  if (ellipses > 1) throw Error(ErrorCode::Invalid, "an index may hold one ellipsis");
  std::vector<Item> resolved;
  const auto whole = [&](size_t count) {
    for (size_t k = 0; k < count; ++k) {
      size_t dimension = 0;
      for (const Item& item : resolved) dimension += std::holds_alternative<NewAxis>(item) ? 0 : 1;
      resolved.push_back(Slice{dimension, {0, call.shape(0)[dimension], 1}});
    }
  };
  size_t dimension = 0;
  for (const Json& item : *items) {
    if (item == "newaxis") {
      resolved.push_back(NewAxis{});
    } else if (item == "...") {
      whole(rank - named);
      dimension += rank - named;
    } else {
      resolved.push_back(resolve_item(call, item, dimension++));
    }
  }
  if (ellipses == 0) whole(rank - named);
  return resolved;
}

// Where the broadcast dimensions of index tensors stand: at the first of them when they (and
// integers between them) are adjacent, else in front.
struct IndexLayout {
  Shape shape;             // of the result
  Shape index_shape;       // broadcast of the index tensors
  size_t index_at = 0;     // first result dimension of index_shape
  std::vector<size_t> at;  // per item: its result dimension (slices, new axes)
};

IndexLayout layout_of(const OperatorCall& call, const std::vector<Item>& items) {
  IndexLayout layout;
  size_t first = items.size(), last = 0;
  for (size_t k = 0; k < items.size(); ++k)
    if (const auto* index = std::get_if<IndexTensor>(&items[k])) {
      layout.index_shape = broadcast(layout.index_shape, shape_of(call.trace(), index->tensor));
      first = std::min(first, k);
      last = k;
    }
  const bool advanced = first < items.size();
  const auto joins = [&](const Item& item) {
    return std::holds_alternative<IndexTensor>(item) || std::holds_alternative<Integer>(item);
  };
  // NumPy counts integers as index tensors once there is one.
  for (size_t k = 0; advanced && k < items.size(); ++k)
    if (std::holds_alternative<Integer>(items[k]))
      first = std::min(first, k), last = std::max(last, k);
  const bool adjacent = advanced && std::all_of(items.begin() + static_cast<long>(first),
                                                items.begin() + static_cast<long>(last) + 1, joins);
  layout.at.resize(items.size());
  const auto place_index = [&] {
    layout.index_at = layout.shape.size();
    layout.shape.insert(layout.shape.end(), layout.index_shape.begin(), layout.index_shape.end());
  };
  if (advanced && !adjacent) place_index();
  for (size_t k = 0; k < items.size(); ++k) {
    if (adjacent && k == first) place_index();
    layout.at[k] = layout.shape.size();
    if (const auto* range = std::get_if<Slice>(&items[k]))
      layout.shape.push_back(range->range.extent);
    if (std::holds_alternative<NewAxis>(items[k])) layout.shape.push_back(1);
  }
  return layout;
}

// The element of an index tensor at the result's point, negative values counted from the end.
Formula index_element(Trace& trace, const StageBuilder& stage, const IndexTensor& item,
                      const IndexLayout& layout, int64_t extent) {
  const Shape& own = shape_of(trace, item.tensor);
  const size_t skipped = layout.index_shape.size() - own.size();
  std::vector<Formula> at;
  for (size_t k = 0; k < own.size(); ++k)
    at.push_back(own[k] == 1 ? integer(stage, 0) : stage.axis(layout.index_at + skipped + k));
  const Formula i = stage.read(item.tensor, at).cast(DType::Int64);
  return select(i < 0, i + extent, i);
}

std::vector<TensorId> getitem(OperatorCall& call) {
  Trace& trace = call.trace();
  const std::vector<Item> items = resolve_items(call);
  const IndexLayout layout = layout_of(call, items);
  StageBuilder stage(trace, "getitem", layout.shape);
  std::vector<Formula> index;
  for (size_t k = 0; k < items.size(); ++k) {
    if (const auto* constant = std::get_if<Integer>(&items[k]))
      index.push_back(integer(stage, constant->value));
    if (const auto* range = std::get_if<Slice>(&items[k]))
      index.push_back(stage.axis(layout.at[k]) * range->range.step + range->range.start);
    if (const auto* tensor = std::get_if<IndexTensor>(&items[k]))
      index.push_back(
          index_element(trace, stage, *tensor, layout, call.shape(0)[tensor->dimension]));
  }
  return {stage.finish(stage.read(call.tensor(0), index), dtype_of(trace, call.tensor(0)))};
}

// torch's and NumPy's slicing by lists: starts, stops, steps for the axes named (all, in order, by
// default).
std::vector<TensorId> strided_slice(OperatorCall& call) {
  const auto list = [&](std::string_view key) {
    const Json* value = call.attributes().find(key);
    return value && value->is_array() ? *value : Json::array();
  };
  const Json starts = list("starts"), stops = list("stops"), steps = list("steps");
  Shape named;
  for (size_t k = 0; k < starts.size(); ++k) named.push_back(static_cast<int64_t>(k));
  const std::vector<size_t> axes =
      normalized_axes(call.attributes().integers("axes").value_or(named), call.rank(0), "axes");
  if (axes.size() != starts.size() || stops.size() != starts.size() ||
      (!steps.empty() && steps.size() != starts.size()))
    throw Error(ErrorCode::Invalid, "starts, stops, steps and axes must have equal lengths");
  TensorId x = call.tensor(0);
  for (size_t k = 0; k < axes.size(); ++k) {
    const int64_t step = steps.empty() ? 1 : bound_of(steps[k]).value_or(1);
    const Range range =
        resolve_slice(bound_of(starts[k]), bound_of(stops[k]), step, call.shape(0)[axes[k]]);
    x = slice(call.trace(), x, axes[k], range.start, range.extent, range.step);
  }
  return {x};
}

std::vector<TensorId> slice_like(OperatorCall& call) {
  const Shape wanted = call.shape(1);  // a copy: slicing adds tensors, which moves the others
  std::vector<size_t> axes = axes_of(call, 0, "axes");
  if (!call.attributes().has("axes") && wanted.size() < axes.size()) axes.resize(wanted.size());
  TensorId x = call.tensor(0);
  for (size_t axis : axes) {
    if (axis >= wanted.size() || wanted[axis] > call.shape(0)[axis])
      fail_shape(call, "slice_like cuts to a shape that is not smaller");
    x = slice(call.trace(), x, axis, 0, wanted[axis], 1);
  }
  return {x};
}

constexpr std::string_view kIndexingBack = "g in the elements read, zero elsewhere";

const Operator kIndexingOperators[] = {
    {"getitem", "(x, indices..., *, items)",
     "items: int, [start, stop, step], \"newaxis\", \"...\", {\"tensor\": k}",
     "g in the elements read, added up where one is read twice", getitem},
    {"strided_slice", "(x, *, starts, stops, steps=None, axes=None)", "(...) -> sliced",
     kIndexingBack, strided_slice},
    {"slice_like", "(x, like, *, axes=None)", "(...) -> like's", "as strided_slice; zero to like",
     slice_like},
};

}  // namespace

std::span<const Operator> indexing_operators() { return kIndexingOperators; }

}  // namespace adjit::trace
