// runtime/diff/rewrite/reads_in_box.cpp -- reads that are evaluated at more points than they were
// made for.
#include "runtime/diff/rewrite/reads_in_box.hpp"

#include <optional>
#include <span>
#include <vector>

#include "runtime/diff/conditions/condition.hpp"

namespace adjit::diff {
namespace {

// Invalid where it is so without a check.
ExprId coordinate_inside(ExprPool& pool, ExprId coordinate, int64_t extent, const Domain& box) {
  if (const std::optional<int64_t> constant = pool.int_value(coordinate))
    if (*constant >= 0 && *constant < extent) return {};
  if (pool.is(coordinate, Op::Axis) && box.extents[pool.axis_number(coordinate)] <= extent)
    return {};
  const ExprId low = pool.make(Op::Le, {pool.constant_int(0), coordinate});
  return both(pool, low, pool.make(Op::Lt, {coordinate, pool.constant_int(extent)}));
}

}  // namespace

ExprId with_reads_in_box(Graph& graph, ExprId expr, const Domain& box) {
  if (!expr.valid()) return expr;
  ExprPool& pool = graph.pool;
  Rebuilder rebuild(pool, pool, [&](ExprId leaf, std::span<const ExprId> operands) {
    if (!pool.is(leaf, Op::Read)) return ExprId{};
    const TensorId tensor = pool.read_tensor(leaf);
    const DType dtype = pool.dtype(leaf);
    const bool guarded = pool.read_predicate(leaf).valid();
    const std::vector<ExprId> index(operands.begin(), operands.end() - (guarded ? 1 : 0));
    ExprId inside = guarded ? operands.back() : ExprId{};
    for (size_t d = 0; d < index.size(); ++d)
      inside =
          both(pool, inside, coordinate_inside(pool, index[d], graph.info(tensor).shape[d], box));
    return pool.read(tensor, dtype, index, inside);
  });
  return rebuild(expr);
}

}  // namespace adjit::diff
