// runtime/diff/simplify/scatter_to_select.cpp -- scatters that write every element at most once.
//
// Worked example: the gradient of x[i, t[i]] is scatter D(i, t(i)) += v(i). Each row has one
// writer, and each element of it asks whether it is the one:
//   D(i, j) = select(j == t(i), v(i), 0).
// That is computed where it is read; the scatter would clear and fill an array of D's size.
#include <algorithm>

#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/diff/simplify/simplify.hpp"

namespace adjit::diff {
namespace {

// Per domain axis, the dimension of the result that it alone makes up; nullopt unless all have one.
std::optional<std::vector<size_t>> own_dimensions(const Graph& graph, const Stage& stage) {
  std::vector<size_t> own(stage.domain.rank(), SIZE_MAX);
  const std::vector<int64_t>& shape = graph.info(stage.results[0]).shape;
  for (size_t d = 0; d < stage.target.size(); ++d) {
    if (!graph.pool.is(stage.target[d], Op::Axis)) continue;
    const size_t axis = graph.pool.axis_number(stage.target[d]);
    if (own[axis] == SIZE_MAX && stage.domain.extents[axis] == shape[d]) own[axis] = d;
  }
  if (std::ranges::find(own, SIZE_MAX) != own.end()) return std::nullopt;
  return own;
}

bool may_be_select(const Stage& stage) {
  return stage.kind == StageKind::Scatter && stage.out_of_range == OutOfRange::Drop &&
         stage.domain.is_box() &&
         (stage.combiner.kind == CombinerKind::Sum || stage.combiner.kind == CombinerKind::None);
}

Stage as_select(Graph& graph, const Stage& scatter, const std::vector<size_t>& own) {
  ExprPool& pool = graph.pool;
  const TensorInfo info = graph.info(scatter.results[0]);
  const DType wide = accumulator_of(info.dtype);
  std::vector<ExprId> now;  // per domain axis
  for (size_t dimension : own) now.push_back(pool.axis(dimension));
  const std::vector<ExprId> point = axes(pool, info.shape.size());
  ExprId here = pool.constant_int(1, DType::Bool);
  for (size_t d = 0; d < scatter.target.size(); ++d)
    if (std::ranges::find(own, d) == own.end())
      here = pool.logical_and(
          here, pool.make(Op::Eq, {point[d], substitute_axes(pool, scatter.target[d], now)}));
  const ExprId value = pool.cast(substitute_axes(pool, scatter.bodies[0], now), wide);
  const ExprId before =
      scatter.initial.valid()
          ? pool.cast(read(graph, scatter.initial, point), wide)
          : (is_float(wide) ? pool.constant(0, wide) : pool.cast(pool.constant_int(0), wide));
  const bool adds = scatter.combiner.kind == CombinerKind::Sum;
  const ExprId written = adds && scatter.initial.valid() ? pool.add(before, value) : value;
  Stage stage;
  stage.domain.extents = info.shape;
  stage.domain.output_rank = info.shape.size();
  stage.results = scatter.results;
  stage.stop_gradient = scatter.stop_gradient;
  stage.region = scatter.region;
  stage.lines = scatter.lines;
  stage.bodies = {pool.cast(pool.make(Op::Select, {here, written, before}), info.dtype)};
  return stage;
}

}  // namespace

Graph selects_for_unique_scatters(Graph graph) {
  for (Stage& stage : graph.stages) {
    if (!may_be_select(stage)) continue;
    if (const auto own = own_dimensions(graph, stage)) stage = as_select(graph, stage, *own);
  }
  return graph;
}

}  // namespace adjit::diff
