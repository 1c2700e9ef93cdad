// autosched/moves/unroll_reduction.cpp -- a short reduction written out as one expression.
//
//   D[i, j] = sum over k < 3 of (x[i, k] - y[j, k])^2   becomes
//   D[i, j] = ((x[i, 0] - y[j, 0])^2 + (x[i, 1] - y[j, 1])^2) + (x[i, 2] - y[j, 2])^2,
// which readers can compute again instead of loading it. Terms come in domain order, products by
// fma: the values are those of the reduction.
#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/limits.hpp"

namespace adjit::sched {
namespace {

ExprId plus_term(ExprPool& pool, ExprId sum, ExprId term) {
  if (!sum.valid()) return term;
  if (pool.is(term, Op::Mul) && is_float(pool.dtype(term)))
    return pool.make(Op::Fma, {pool.operand(term, 0), pool.operand(term, 1), sum});
  return pool.add(sum, term);
}

}  // namespace

Program unroll_reduction(Program program, size_t stage) {
  constexpr int64_t kMostTerms = 64;
  const Move move = begin_move("unroll_reduction", program, stage);
  const Stage& whole = move.stage_ref();
  const Domain& domain = whole.domain;
  move.require(whole.kind == StageKind::Compute && whole.combiner.kind == CombinerKind::Sum &&
                   whole.bodies.size() == 1 && !running_of(program.graph, whole),
               "only a sum can be written out");
  move.require(domain.is_box(), "conditions restrict its points");
  const DType dtype = program.graph.info(whole.results.front()).dtype;
  move.require(accumulator_of(dtype) == dtype && dtype != DType::Bool,
               "its terms are added up in another type");
  int64_t terms = 1;
  for (size_t a = domain.output_rank; a < domain.rank(); ++a)
    terms = checked_mul(terms, domain.extents[a]);
  move.require(terms >= 1 && terms <= kMostTerms, "it has none or too many terms");
  const size_t nodes = reachable(program.graph.pool, whole.bodies).size();
  move.require(nodes <= kNodeLimit / static_cast<size_t>(terms), "its terms are too long");
  move.own_kernel("write it out before attaching it or others to it");
  ExprPool& pool = program.graph.pool;
  ExprId sum;
  std::vector<int64_t> at(domain.reduction_rank(), 0);
  for (int64_t k = 0; k < terms; ++k) {
    std::vector<ExprId> now;
    for (size_t a = 0; a < domain.output_rank; ++a) now.push_back(pool.axis(a));
    for (int64_t value : at) now.push_back(pool.constant_int(value));
    sum = plus_term(pool, sum, body_at(pool, whole.bodies[0], now, {}));
    for (size_t r = at.size(); r-- > 0;) {
      if (++at[r] < domain.extents[domain.output_rank + r]) break;
      at[r] = 0;
    }
  }
  Stage& expanded = program.graph.stages[stage];
  expanded.domain.extents.resize(expanded.domain.output_rank);
  expanded.domain.divisions.clear();
  expanded.combiner = {};
  expanded.bodies = {sum};
  reset_nest(program, stage);
  index_readers(program);
  move.record(Json::object());
  return program;
}

}  // namespace adjit::sched
