// autosched/moves/transpose_output.cpp -- a stage's results with another dimension innermost.
//
//   W[o, c, k] = sum over n, x of D[n, o, x] X[n, c, x + k]
// with lanes along o stores every lane's result apart from the others, and so it loads and stores
// partial results where the reduction comes in passes (outer_reduction.hpp):
//   T[c, k, o] = sum over n, x of D[n, o, x] X[n, c, x + k];   W[o, c, k] = T[c, k, o]
#include <algorithm>
#include <numeric>

#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/required_region.hpp"

namespace adjit::sched {
namespace {

// The domain with axis k as axis place[k].
Domain permuted(const Domain& domain, std::span<const size_t> place) {
  Domain made = domain;
  std::vector<Affine> now;
  for (size_t v = 0; v < domain.rank() + domain.divisions.size(); ++v)
    now.push_back(Affine::variable(v < domain.rank() ? place[v] : v));
  for (size_t a = 0; a < domain.rank(); ++a) made.extents[place[a]] = domain.extents[a];
  substitute_variables(made, now);
  return made;
}

}  // namespace

Program transpose_output(Program program, size_t stage, size_t axis) {
  const Move move = begin_move("transpose_output", program, stage);
  const Stage& whole = move.stage_ref();
  move.require(whole.kind == StageKind::Compute && !running_of(program.graph, whole),
               "only compute stages have results that can be transposed");
  const size_t outputs = whole.domain.output_rank;
  move.require(axis < outputs && axis + 1 < outputs,
               "the axis must be one of its results, and not the last one");
  move.require_plain_loops("transpose results before loops are made of them");
  Graph& graph = program.graph;
  ExprPool& pool = graph.pool;
  std::vector<size_t> place(whole.domain.rank());
  std::iota(place.begin(), place.end(), size_t{0});
  for (size_t a = axis + 1; a < outputs; ++a) place[a] = a - 1;
  place[axis] = outputs - 1;
  Stage made = whole;
  made.domain = permuted(whole.domain, place);
  Rebuilder rebuild(pool, pool, [&](ExprId leaf, std::span<const ExprId>) {
    return pool.is(leaf, Op::Axis) ? pool.axis(place[pool.axis_number(leaf)]) : ExprId{};
  });
  for (ExprId& body : made.bodies) body = rebuild(body);
  Stage apart;
  apart.lines = whole.lines;
  apart.region = whole.region;
  apart.results = whole.results;
  apart.domain = shape_box(graph.info(whole.results[0]).shape);
  for (TensorId& id : made.results) {
    const TensorInfo info = graph.info(id);
    std::vector<int64_t> shape(outputs);
    std::vector<ExprId> index(outputs, pool.axis(0));
    for (size_t a = 0; a < outputs; ++a) {
      shape[place[a]] = info.shape[a];
      index[place[a]] = pool.axis(a);
    }
    id = add_tensor(graph, info.name + "_transposed", info.dtype, std::move(shape));
    apart.bodies.push_back(pool.read(id, info.dtype, index));
  }
  graph.stages[stage] = std::move(apart);
  reset_nest(program, stage);
  insert_stage(program, stage, std::move(made));
  index_readers(program);
  append_move(program, {{"move", "transpose_output"},
                        {"stage", stage_name(graph, program.graph.stages[stage + 1])},
                        {"axis", axis}});
  return program;
}

}  // namespace adjit::sched
