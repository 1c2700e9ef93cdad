// autosched/moves/factor_out.cpp -- factors that do not depend on an axis of a sum, out of the
// terms along it.
//
//   y[j, k] = sum over r, o < 2 of (v[j, r] * w[r, o] if I[r] + o == k, else 0)   becomes
//   y[j, k] = sum over r of (v[j, r] * (w0[r, k] + w1[r, k]) if any has a term, else 0),
//   wo[r, k] = w[r, o] if I[r] + o == k, else 0
// Results that have no term at r do not see v[j, r], also where that is no number. What depends on
// the axis is small (factored_sum.hpp), and the factors go around its sum one after the other, as
// around itself before: nothing overflows that did not. Sums are rounded in another order; an
// infinite factor times weights of which one is zero is no number before, and infinite then.
#include <vector>

#include "autosched/analysis/reads/factored_sum.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/limits.hpp"

namespace adjit::sched {
namespace {

// Expressions at the points of an axis, without that axis.
class Points {
 public:
  Points(ExprPool& pool, const Domain& domain, size_t axis) : pool_(pool), axis_(axis) {
    for (size_t a = 0; a < domain.rank(); ++a) now_.push_back(pool.axis(a <= axis ? a : a - 1));
  }

  ExprId at(ExprId expr, int64_t point) {
    now_[axis_] = pool_.constant_int(point);
    return body_at(pool_, expr, now_, {});
  }
  std::span<const ExprId> now() const { return now_; }
  size_t axis() const { return axis_; }

 private:
  ExprPool& pool_;
  size_t axis_;
  std::vector<ExprId> now_;
};

// Whether there is a term at any point of the axis, and the sum of the factor that depends on it.
struct Sum {
  ExprId any, sum;
};
Sum sum_along(ExprPool& pool, const FactoredSum& terms, int64_t extent, Points& points) {
  const DType dtype = pool.dtype(terms.value);
  const bool chooses = terms.condition.valid() && uses(pool, terms.condition, points.axis());
  Sum all;
  if (terms.condition.valid() && !chooses) all.any = points.at(terms.condition, 0);
  for (int64_t point = 0; point < extent; ++point) {
    ExprId term =
        terms.dependent.valid() ? points.at(terms.dependent, point) : pool.constant(1, dtype);
    if (chooses) {
      const ExprId here = points.at(terms.condition, point);
      term = pool.select(here, term, pool.constant(0, dtype));
      all.any = all.any.valid() ? pool.make(Op::Or, {all.any, here}) : here;
    }
    all.sum = all.sum.valid() ? pool.add(all.sum, term) : term;
  }
  return all;
}

// The value with the sum in place of what depends on the axis.
ExprId around(ExprPool& pool, const FactoredSum& terms, ExprId sum, Points& points) {
  if (!terms.dependent.valid()) return pool.mul(points.at(terms.value, 0), sum);
  std::vector<ExprId> nodes;  // from the outermost one
  for (ExprId node = terms.value; node != terms.dependent;
       node = factor_along(pool, node, points.axis()))
    nodes.push_back(node);
  for (size_t k = nodes.size(); k-- > 0;) {
    const ExprId inside = factor_along(pool, nodes[k], points.axis());
    std::vector<ExprId> operands;
    for (const ExprId operand :
         std::vector(pool.operands(nodes[k]).begin(), pool.operands(nodes[k]).end()))
      operands.push_back(operand == inside ? sum : points.at(operand, 0));
    sum = pool.make(pool[nodes[k]].op, operands);
  }
  return sum;
}

}  // namespace

Program factor_out(Program program, size_t stage, size_t axis) {
  constexpr int64_t kMostPoints = 8;
  const Move move = begin_move("factor_out", program, stage);
  ExprPool& pool = program.graph.pool;
  Stage sum = move.stage_ref();
  const FactoredSum terms = factored_sum(program.graph, sum, axis);
  if (terms.refusal) move.refuse(terms.refusal);
  const int64_t extent = sum.domain.extents[axis];
  move.require(extent >= 1 && extent <= kMostPoints, "the axis has none or too many points");
  const size_t nodes = reachable(pool, sum.bodies).size();
  move.require(nodes <= kNodeLimit / static_cast<size_t>(extent), "its terms are too long");
  move.own_kernel("take it out before attaching it or others to it");
  Points points(pool, sum.domain, axis);
  const Sum along = sum_along(pool, terms, extent, points);
  sum.bodies = {around(pool, terms, along.sum, points)};
  if (along.any.valid())
    sum.bodies = {
        pool.select(along.any, sum.bodies[0], pool.constant(0, pool.dtype(sum.bodies[0])))};
  Domain box;
  box.extents = sum.domain.extents;
  box.extents.erase(box.extents.begin() + static_cast<std::ptrdiff_t>(axis));
  box.output_rank = sum.domain.output_rank;
  sum.domain = with_rows_of(pool, sum.domain, std::move(box), points.now());
  program.graph.stages[stage] = std::move(sum);
  reset_nest(program, stage);
  index_readers(program);
  move.record({{"axis", axis}});
  return program;
}

}  // namespace adjit::sched
