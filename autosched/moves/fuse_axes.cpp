// autosched/moves/fuse_axes.cpp -- two axes of a stage's results that follow each other become one.
//
//   C[b, i, j] = sum over k of A[b, i, k] B[k, j], i < 100
// has a matrix product's rows in two axes:
//   M[r, j] = sum over k of A[r / 100, r % 100, k] B[k, j];   C[b, i, j] = M[100 b + i, j]
// where A's two divisions cancel in its address, and C lies where M does (alias_reshape.cpp).
#include <algorithm>

#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/required_region.hpp"

namespace adjit::sched {
namespace {

bool mentions(const Domain& domain, size_t axis) {
  const auto in = [&](const std::vector<Affine>& rows) {
    return std::ranges::any_of(rows, [&](const Affine& r) { return r.coefficient(axis) != 0; });
  };
  return in(domain.inequalities) || in(domain.equalities) ||
         std::ranges::any_of(domain.divisions,
                             [&](const Division& d) { return d.numerator.coefficient(axis) != 0; });
}

// The domain without axis + 1, whose points `axis` takes over.
Domain merged(const Domain& domain, size_t axis) {
  Domain made = domain;
  made.extents[axis] *= domain.extents[axis + 1];
  made.extents.erase(made.extents.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
  made.output_rank -= 1;
  std::vector<Affine> now;
  for (size_t v = 0; v < domain.rank() + domain.divisions.size(); ++v)
    now.push_back(v == axis || v == axis + 1 ? Affine() : Affine::variable(v > axis ? v - 1 : v));
  substitute_variables(made, now);
  return made;
}

}  // namespace

Program fuse_axes(Program program, size_t stage, size_t axis) {
  const Move move = begin_move("fuse_axes", program, stage);
  const Stage& whole = move.stage_ref();
  move.require(whole.kind == StageKind::Compute && !running_of(program.graph, whole),
               "only compute stages have axes that can be merged");
  move.require(axis < whole.domain.output_rank && axis + 1 < whole.domain.output_rank,
               "the stage has no two such output axes");
  move.require(!mentions(whole.domain, axis) && !mentions(whole.domain, axis + 1),
               "the domain has conditions on them");
  const NestPath path = move.path();
  const Nest& nest = nest_at(program, path);
  move.require(path.steps.empty() && nest.attached.empty() && parallel_depth(nest) == 0 &&
                   tile_begin(nest) == nest.loops.size(),
               "merge axes before loops are made of them");
  Graph& graph = program.graph;
  ExprPool& pool = graph.pool;
  const int64_t extent = whole.domain.extents[axis + 1];
  Stage made = whole;
  made.domain = merged(whole.domain, axis);
  Rebuilder rebuild(pool, pool, [&](ExprId leaf, std::span<const ExprId>) {
    if (!pool.is(leaf, Op::Axis)) return ExprId{};
    const size_t a = pool.axis_number(leaf);
    const ExprId row = pool.axis(axis);
    if (a == axis) return pool.make(Op::FloorDiv, {row, pool.constant_int(extent)});
    if (a == axis + 1) return pool.make(Op::Mod, {row, pool.constant_int(extent)});
    return pool.axis(a > axis ? a - 1 : a);
  });
  for (ExprId& body : made.bodies) body = rebuild(body);
  Stage apart;
  apart.lines = whole.lines;
  apart.results = whole.results;
  for (TensorId& id : made.results) {
    const TensorInfo info = graph.info(id);
    std::vector<int64_t> shape = info.shape;
    shape[axis] *= shape[axis + 1];
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
    id = add_tensor(graph, info.name + "_merged", info.dtype, std::move(shape));
    std::vector<ExprId> index;
    for (size_t d = 0; d < info.shape.size(); ++d) {
      if (d == axis + 1) continue;
      ExprId at = pool.axis(d);
      if (d == axis)
        at = pool.make(Op::Add,
                       {pool.make(Op::Mul, {at, pool.constant_int(extent)}), pool.axis(d + 1)});
      index.push_back(at);
    }
    apart.bodies.push_back(pool.read(id, info.dtype, index));
  }
  apart.domain = shape_box(graph.info(whole.results[0]).shape);
  graph.stages[stage] = std::move(apart);
  reset_nest(program, stage);
  insert_stage(program, stage, std::move(made));
  index_readers(program);
  append_move(program, {{"move", "fuse_axes"},
                        {"stage", stage_name(graph, program.graph.stages[stage + 1])},
                        {"axis", axis}});
  return program;
}

}  // namespace adjit::sched
