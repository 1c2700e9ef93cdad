// autosched/moves/scatter/scatter_accumulate.cpp -- a scatter into rows that data names, a row at a
// time.
//
//   H[i[p] + c, k] += w[p, c] * v[p, k]
// becomes, where k are several axes or v takes some arithmetic,
//   r[p, k] = v[p, k];   H[i[p] + c, k] += w[p, c] * r[p, k]
// with one axis for all elements of a row, which lanes walk: w is one number for them.
#include <algorithm>

#include "autosched/analysis/reads/indexed_vectors.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/required_region.hpp"
#include "runtime/domain/bounds.hpp"
#include "runtime/expr/interval.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
namespace {

// The axes of a form that walks 0 .. n - 1 once, the one of the largest steps first; nullopt of
// others.
std::optional<std::vector<size_t>> digits_of(const Affine& form, const Domain& domain) {
  std::vector<size_t> axes;
  for (size_t a = 0; a < form.size(); ++a)
    if (form.coefficient(a) != 0) axes.push_back(a);
  if (form.size() > domain.rank() || form.constant() != 0) return std::nullopt;
  std::ranges::sort(axes, std::ranges::greater{}, [&](size_t a) { return form.coefficient(a); });
  int64_t step = 1;
  for (size_t k = axes.size(); k-- > 0;) {
    if (form.coefficient(axes[k]) != step) return std::nullopt;
    step *= domain.extents[axes[k]];
  }
  return axes;
}

// The axes of the stages that are made, and what an axis of the whole scatter is over them.
struct RowAxes {
  std::vector<int64_t> extents;   // of the scatter: points, corners, elements of a row
  std::vector<int64_t> shape;     // of the values: points, then the axes along a row
  std::vector<ExprId> there;      // axes of the whole over the scatter's; none along a row
  std::vector<ExprId> of_values;  // axes of the whole over the values'
  std::vector<ExprId> index;      // of a value, over the scatter's axes
  ExprId element;
  size_t side = 0;  // of the scatter's axes: the last of the points
};

// `elements`: of a row, with those that are only room.
RowAxes row_axes(ExprPool& pool, const Domain& whole, const RowScatter& rows, int64_t elements) {
  RowAxes axes;
  std::vector<int64_t>& extents = axes.extents;
  axes.there.assign(whole.rank(), pool.axis(0));
  axes.of_values = axes.there;
  for (size_t a : axes_of(rows.points)) {
    if (a == rows.side) axes.side = extents.size();
    axes.of_values[a] = axes.there[a] = pool.axis(extents.size());
    axes.index.push_back(axes.there[a]);
    extents.push_back(whole.extents[a]);
  }
  axes.shape = extents;
  for (size_t a : axes_of(rows.corners)) {
    axes.there[a] = pool.axis(extents.size());
    extents.push_back(whole.extents[a]);
  }
  axes.element = pool.axis(extents.size());
  extents.push_back(elements);
  int64_t below = rows.elements;
  const int64_t padded = elements / (below / whole.extents[rows.row.front()]);
  for (size_t k = 0; k < rows.row.size(); ++k) {
    const int64_t extent = whole.extents[rows.row[k]];
    below /= extent;
    ExprId digit = below == 1 ? axes.element
                              : pool.make(Op::FloorDiv, {axes.element, pool.constant_int(below)});
    if (k > 0) digit = pool.make(Op::Mod, {digit, pool.constant_int(extent)});
    axes.index.push_back(digit);
    const ExprId axis = pool.axis(axes.shape.size());
    const bool beyond = k == 0 && padded > extent;
    axes.of_values[rows.row[k]] =
        beyond ? pool.make(Op::Min, {axis, pool.constant_int(extent - 1)}) : axis;
    axes.shape.push_back(beyond ? padded : extent);
  }
  return axes;
}

// The weight of a row, and the coordinates that name it.
WeighedRows weighed_rows(ExprPool& pool, const Stage& whole, const RowScatter& rows,
                         const RowAxes& axes) {
  WeighedRows weighed;
  weighed.domain.extents = axes.extents;
  weighed.along = axes.side;
  weighed.weights.resize(1);
  if (!rows.weights.factors.empty())
    weighed.weights[0] =
        body_at(pool, product_of(pool, rows.weights, pool.dtype(whole.bodies[0])), axes.there, {});
  for (size_t d = 0; d + 1 < whole.target.size(); ++d)
    weighed.places.push_back(body_at(pool, whole.target[d], axes.there, {}));
  return weighed;
}

// A place from memory might be anything, where the one that was computed could be no other.
void keep_never_negative(ExprPool& pool, std::span<const ExprId> before, WeighedRows& weighed) {
  const auto never_negative = [&](ExprId place) {
    const auto range = interval_of(pool, place, weighed.domain.extents);
    return range && range->lo >= 0;
  };
  for (size_t d = 0; d < before.size(); ++d)
    if (ExprId& place = weighed.places[d]; never_negative(before[d]) && !never_negative(place))
      place = pool.make(Op::Max, {place, pool.constant_int(0)});
}

}  // namespace

RowScatter row_scatter(Graph& graph, const Stage& stage) {
  const auto refuse = [](const char* reason) {
    RowScatter refused;
    refused.refusal = reason;
    return refused;
  };
  ExprPool& pool = graph.pool;
  if (stage.kind != StageKind::Scatter || stage.combiner.kind != CombinerKind::Sum ||
      !stage.domain.is_box() || stage.domain.rank() > kMostRowAxes || stage.target.empty())
    return refuse("only scatters of sums over a box have rows of products");
  const TensorInfo& info = graph.info(stage.results[0]);
  if (!is_float(info.dtype) || pool.dtype(stage.bodies[0]) != info.dtype)
    return refuse("its values are no floats as wide as its result");
  if (!has_short_places(info.shape)) return refuse("its result has too many rows");
  RowScatter found;
  if (box_is_empty(stage.domain)) return refuse("it has no points");
  const std::optional<IndexForm> last = index_form(pool, stage.target.back(), stage.domain);
  const auto digits = last ? digits_of(last->form, stage.domain) : std::nullopt;
  if (!digits || digits->empty())
    return refuse("its axes do not walk rows from their beginning on");
  found.row = *digits;
  AxisSet in_row = 0, named = 0;
  for (size_t a : found.row) in_row |= bit(a);
  for (size_t d = 0; d + 1 < stage.target.size(); ++d) named |= axes_used(pool, stage.target[d]);
  if ((named & in_row) != 0) return refuse("rows are named by their own axes");
  const Product product = factors_with_signs(pool, stage.bodies[0]);
  found.values.negative = product.negative;
  for (const Factor& factor : product.factors) {
    const bool in_values = (factor.axes & in_row) != 0;
    (in_values ? found.values : found.weights).factors.push_back(factor);
    if (in_values) found.points |= factor.axes & ~in_row;
  }
  for (size_t a = 0; a < stage.domain.rank(); ++a)
    if (((found.points | in_row) & bit(a)) == 0) found.corners |= bit(a);
  if (found.points == 0 || found.corners == 0) return refuse("no values are added to several rows");
  for (size_t a : found.row) found.elements *= stage.domain.extents[a];
  found.side = axes_of(found.points).back();
  return found;
}

int64_t elements_with_room(const Program& program, size_t stage, const RowScatter& rows) {
  const Stage& scatter = program.graph.stages[stage];
  const TensorId result = scatter.results[0];
  const ExprPool& pool = program.graph.pool;
  const int64_t width = program.graph.info(result).shape.back();
  const int64_t first = scatter.domain.extents[rows.row.front()];
  if (width % (rows.elements / first) != 0 || program.scopes[result.value] != Scope::Workspace)
    return rows.elements;
  // Nobody may read what is behind: it gets values, too.
  for (size_t reader : program.readers[result.value]) {
    const Stage& r = program.graph.stages[reader];
    if (r.kind != StageKind::Compute) return rows.elements;
    for (ExprId read : reads_of(program.graph, r)) {
      if (pool.read_tensor(read) != result) continue;
      const auto last = index_form(pool, pool.read_index(read).back(), r.domain);
      const auto range = last ? box_interval(last->domain, last->form) : std::nullopt;
      if (!range || range->hi >= rows.elements) return rows.elements;
    }
  }
  return width;
}

Program scatter_accumulate(Program program, size_t stage) {
  const Move move = begin_move("scatter_accumulate", program, stage);
  Graph& graph = program.graph;
  ExprPool& pool = graph.pool;
  const Stage whole = graph.stages[stage];  // what is inserted moves the graph's
  const RowScatter rows = row_scatter(graph, whole);
  if (rows.refusal) move.refuse(rows.refusal);
  move.own_kernel("rows are weighed before stages are attached");
  const DType dtype = pool.dtype(whole.bodies[0]);
  const int64_t elements = elements_with_room(program, stage, rows);
  const RowAxes axes = row_axes(pool, whole.domain, rows, elements);
  WeighedRows weighed = weighed_rows(pool, whole, rows, axes);
  const std::string name = stage_name(graph, whole);
  const std::vector<ExprId> named = weighed.places;
  compute_ahead(program, stage, name, weighed);
  keep_never_negative(pool, named, weighed);

  Stage values;
  values.domain = shape_box(axes.shape);
  values.bodies = {body_at(pool, product_of(pool, rows.values, dtype), axes.of_values, {})};
  values.results = {add_tensor(graph, name + "_values", dtype, axes.shape)};
  values.lines = whole.lines;
  values.region = whole.region;
  Stage& scatter = graph.stages[stage];
  scatter.domain = shape_box(axes.extents);
  scatter.domain.output_rank = 0;
  const ExprId value = pool.read(values.results[0], dtype, axes.index);
  const ExprId weight = weighed.weights[0];
  scatter.bodies = {weight.valid() ? pool.mul(weight, value) : value};
  scatter.target = weighed.places;
  scatter.target.push_back(axes.element);
  reset_nest(program, stage);
  insert_stage(program, stage, std::move(values));
  Move{move.name, program, stage + 1}.record(Json::object());
  return program;
}

}  // namespace adjit::sched
