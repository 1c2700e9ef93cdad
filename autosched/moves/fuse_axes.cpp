// autosched/moves/fuse_axes.cpp -- two axes of a stage that follow each other become one.
//
//   C[b, i, j] = sum over k of A[b, i, k] B[k, j], i < 100
// has a matrix product's rows in two axes:
//   M[r, j] = sum over k of A[r / 100, r % 100, k] B[k, j];   C[b, i, j] = M[100 b + i, j]
// where A's two divisions cancel in its address, and C lies where M does (alias_reshape.cpp). What
// reads M at [100 b + i, j] reads it at [r, j] when its own axes are fused. Two reduction axes as
// one are gone through in the same order.
#include <algorithm>
#include <bit>
#include <utility>

#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/required_region.hpp"
#include "runtime/diff/conditions/condition.hpp"
#include "runtime/diff/rewrite/factors.hpp"
#include "runtime/domain/bounds.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
namespace {

// The axes of a stage at the point of the one over `axis` and the next as one.
std::vector<ExprId> axes_apart(ExprPool& pool, const Domain& domain, size_t axis) {
  std::vector<ExprId> now;
  for (size_t a = 0; a < domain.rank(); ++a) now.push_back(pool.axis(a > axis ? a - 1 : a));
  const ExprId extent = pool.constant_int(domain.extents[axis + 1]);
  now[axis + 1] = pool.make(Op::Mod, {now[axis], extent});
  now[axis] = pool.make(Op::FloorDiv, {now[axis], extent});
  return now;
}

// The domain with `axis` and the next as one.
Domain fused(ExprPool& pool, const Domain& domain, size_t axis, std::span<const ExprId> now) {
  Domain made;
  made.extents = domain.extents;
  made.extents[axis] *= domain.extents[axis + 1];
  made.extents.erase(made.extents.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
  made.output_rank = domain.output_rank - (axis < domain.output_rank ? 1 : 0);
  return with_rows_of(pool, domain, std::move(made), now);
}

// Axes and divisions that an expression has.
std::pair<int, size_t> effort_of(const ExprPool& pool, ExprId index) {
  const ExprId roots[] = {index};
  const std::vector<ExprId> nodes = reachable(pool, roots);
  const auto divides = [&](ExprId id) { return pool.is(id, Op::FloorDiv) || pool.is(id, Op::Mod); };
  return {std::popcount(axes_used(pool, index)),
          static_cast<size_t>(std::ranges::count_if(nodes, divides))};
}

// An index of fewer axes, or divisions, where it can be said so: as one axis, what a row and a
// column of it make; without what cancels in it.
ExprId simple_index(ExprPool& pool, ExprId index, const Domain& domain) {
  const std::optional<IndexForm> at = index_form(pool, index, domain);
  if (!at || at->form.size() == 0) return index;
  const size_t last = at->form.size() - 1;
  if (last < domain.rank() && at->form == Affine::variable(last)) return pool.axis(last);
  const ExprId same = to_expr(pool, at->form, at->domain);
  return effort_of(pool, same) < effort_of(pool, index) ? same : index;
}

// A condition without what always holds, and of simple indices.
ExprId simple_condition(ExprPool& pool, ExprId condition, const Domain& domain) {
  ExprId all;
  for (ExprId literal : conjuncts(pool, condition)) {
    const bool strict = pool.is(literal, Op::Lt);
    if ((strict || pool.is(literal, Op::Le)) &&
        pool.dtype(pool.operand(literal, 0)) == DType::Int64) {
      const ExprId a = pool.operand(literal, 0), b = pool.operand(literal, 1);
      const std::optional<IndexForm> apart = index_form(pool, pool.sub(b, a), domain);
      if (apart && implies(apart->domain, apart->form - Affine(strict ? 1 : 0))) continue;
      const ExprId sides[] = {simple_index(pool, a, domain), simple_index(pool, b, domain)};
      literal = pool.make(strict ? Op::Lt : Op::Le, sides);
    }
    all = both(pool, all, literal);
  }
  return all;
}

ExprId with_simple_indices(ExprPool& pool, ExprId body, const Domain& domain) {
  Rebuilder rebuild(pool, pool, [&](ExprId leaf, std::span<const ExprId> operands) {
    if (!pool.is(leaf, Op::Read)) return ExprId{};
    std::vector<ExprId> index(operands.begin(), operands.end());
    ExprId predicate;
    if (pool.read_predicate(leaf).valid()) {
      predicate = simple_condition(pool, index.back(), domain);
      index.pop_back();
    }
    for (ExprId& at : index) at = simple_index(pool, at, domain);
    return pool.read(pool.read_tensor(leaf), pool.dtype(leaf), index, predicate);
  });
  return rebuild(body);
}

// Gives the results of the fused stage, which get new names, the shape that they had.
Stage shaped_as_before(Graph& graph, const Stage& whole, Stage& made, size_t axis) {
  ExprPool& pool = graph.pool;
  const ExprId extent = pool.constant_int(whole.domain.extents[axis + 1]);
  Stage apart;
  apart.lines = whole.lines;
  apart.region = whole.region;
  apart.results = whole.results;
  apart.domain = shape_box(graph.info(whole.results[0]).shape);
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
      if (d == axis) at = pool.make(Op::Add, {pool.make(Op::Mul, {at, extent}), pool.axis(d + 1)});
      index.push_back(at);
    }
    apart.bodies.push_back(pool.read(id, info.dtype, index));
  }
  return apart;
}

}  // namespace

Program fuse_axes(Program program, size_t stage, size_t axis) {
  const Move move = begin_move("fuse_axes", program, stage);
  const Stage& whole = move.stage_ref();
  move.require(whole.kind == StageKind::Compute && !running_of(program.graph, whole),
               "only compute stages have axes that can be merged");
  const size_t outputs = whole.domain.output_rank;
  move.require(axis < whole.domain.rank() && axis + 1 < whole.domain.rank() && axis + 1 != outputs,
               "the stage has no two such output axes, or reduction axes");
  move.require(whole.domain.extents[axis] > 0 && whole.domain.extents[axis + 1] > 0,
               "one of the axes has no points");
  move.require_plain_loops("merge axes before loops are made of them");
  Graph& graph = program.graph;
  const std::vector<ExprId> now = axes_apart(graph.pool, whole.domain, axis);
  Stage made = whole;
  made.domain = fused(graph.pool, whole.domain, axis, now);
  for (ExprId& body : made.bodies) {
    body = body_at(graph.pool, with_simple_indices(graph.pool, body, whole.domain), now, {});
    body = with_simple_indices(graph.pool, body, made.domain);
  }
  const std::string name = stage_name(graph, whole);
  if (axis < outputs) {
    Stage apart = shaped_as_before(graph, whole, made, axis);
    graph.stages[stage] = std::move(apart);
    reset_nest(program, stage);
    insert_stage(program, stage, std::move(made));
  } else {
    graph.stages[stage] = std::move(made);
    reset_nest(program, stage);
  }
  index_readers(program);
  append_move(program, {{"move", "fuse_axes"}, {"stage", name}, {"axis", axis}});
  return program;
}

}  // namespace adjit::sched
