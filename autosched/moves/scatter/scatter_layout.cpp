// autosched/moves/scatter/scatter_layout.cpp -- a scatter into an array that has another dimension
// innermost.
//
//   H[c, I[r]] += X[c, r]    becomes    R[I[r], c] += X[c, r];   H[c, i] = R[i, c]
// where R starts from what H starts from. What the points of c write lies side by side in R.
#include <algorithm>

#include "autosched/analysis/reads/gather_access.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/graph_edit.hpp"

namespace adjit::sched {
namespace {

Stage pointwise(const std::vector<int64_t>& shape, TensorId result, std::vector<SourceLine> lines) {
  Stage stage;
  stage.domain.extents = shape;
  stage.domain.output_rank = shape.size();
  stage.results = {result};
  stage.lines = std::move(lines);
  return stage;
}

}  // namespace

Program scatter_layout(Program program, size_t stage, size_t dimension, int64_t width) {
  const Move move = begin_move("scatter_layout", program, stage);
  Stage rows = move.stage_ref();
  Graph& graph = program.graph;
  const TensorInfo result = graph.info(rows.results[0]);
  const size_t rank = result.shape.size();
  move.require(rows.kind == StageKind::Scatter, "that is no scatter");
  move.require(dimension < rank && dimension + 1 < rank,
               "its result has no such dimension before the innermost one");
  const int64_t elements = result.shape[dimension];
  move.require(width == 0 || (width >= elements && width <= 2 * std::max<int64_t>(elements, 1)),
               "rows must have all elements, and at most twice as many");
  move.own_kernel("write rows before attaching others to it");

  // Of the result's dimensions in the new array.
  const std::vector<size_t> order = order_of_rows(graph.pool, rows.target, dimension);
  std::vector<int64_t> shape;
  std::vector<ExprId> there, here(rank);  // the result's element in the array, and the other way
  for (size_t k = 0; k < rank; ++k) {
    shape.push_back(result.shape[order[k]]);
    there.push_back(graph.pool.axis(order[k]));
    here[order[k]] = graph.pool.axis(k);
  }
  if (width > elements && elements > 0) {
    shape.back() = width;
    ExprId& last = here[dimension];
    last = graph.pool.make(Op::Min, {last, graph.pool.constant_int(elements - 1)});
  }

  Stage start = pointwise(
      shape, add_tensor(graph, result.name + "_rows_start", result.dtype, shape), rows.lines);
  start.bodies = {graph.pool.read(rows.initial, result.dtype, here)};
  start.region = rows.region;
  Stage back = pointwise(result.shape, rows.results[0], rows.lines);
  back.region = rows.region;
  rows.initial = start.results[0];
  rows.results = {add_tensor(graph, result.name + "_rows", result.dtype, shape)};
  back.bodies = {graph.pool.read(rows.results[0], result.dtype, there)};
  std::vector<ExprId> target;
  for (size_t d : order) target.push_back(rows.target[d]);
  rows.target = std::move(target);
  graph.stages[stage] = std::move(back);
  reset_nest(program, stage);
  insert_stage(program, stage, std::move(rows));
  insert_stage(program, stage, std::move(start));
  Json arguments{{"dimension", dimension}};
  if (width > elements) arguments["width"] = width;
  Move{move.name, program, stage + 2}.record(arguments);
  return program;
}

}  // namespace adjit::sched
