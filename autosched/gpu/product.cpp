// autosched/gpu/product.cpp -- whether a stage has the form of a product.
#include "autosched/gpu/product.hpp"

#include <utility>
#include <vector>

#include "autosched/moves/moves.hpp"

namespace adjit::sched {
namespace {

// A factor as the read that it is, perhaps under a cast; invalid when it is none.
ExprId read_of(const ExprPool& pool, ExprId factor) {
  if (pool.is(factor, Op::Cast)) factor = pool.operand(factor, 0);
  return pool.is(factor, Op::Read) ? factor : ExprId{};
}

// Which axes the indices of a read are, each by itself; nullopt where an index is anything else.
std::optional<std::vector<bool>> axes_read(const ExprPool& pool, ExprId read, size_t rank) {
  if (pool.read_predicate(read).valid()) return std::nullopt;
  std::vector<bool> axes(rank, false);
  for (ExprId index : pool.read_index(read)) {
    if (!pool.is(index, Op::Axis)) return std::nullopt;
    const size_t axis = pool.axis_number(index);
    if (axes[axis]) return std::nullopt;
    axes[axis] = true;
  }
  return axes;
}

bool sums_over_one_axis(const LoweredGraph& graph, const Stage& stage) {
  return stage.kind == StageKind::Compute && !running_of(graph, stage) &&
         is_product_sum(graph, stage) && stage.domain.is_box() &&
         stage.domain.reduction_rank() == 1;
}

}  // namespace

std::optional<Product> product_of(const LoweredGraph& graph, const Stage& stage) {
  const size_t outputs = stage.domain.output_rank;
  if (!sums_over_one_axis(graph, stage) || outputs < 2) return std::nullopt;
  const ExprPool& pool = graph.pool;
  const ExprId body = stage.bodies.front();
  ExprId left = read_of(pool, pool.operand(body, 0)), right = read_of(pool, pool.operand(body, 1));
  if (!left.valid() || !right.valid()) return std::nullopt;
  auto of_left = axes_read(pool, left, stage.domain.rank());
  auto of_right = axes_read(pool, right, stage.domain.rank());
  if (!of_left || !of_right) return std::nullopt;
  Product product;
  product.k = outputs;
  product.n = outputs - 1;
  if ((*of_left)[product.n]) {
    std::swap(left, right);
    std::swap(of_left, of_right);
  }
  if (!(*of_left)[product.k] || !(*of_right)[product.k]) return std::nullopt;
  if ((*of_left)[product.n] || !(*of_right)[product.n]) return std::nullopt;
  std::optional<size_t> m;
  for (size_t axis = 0; axis < product.n; ++axis)
    if ((*of_left)[axis] && !(*of_right)[axis]) m = axis;
  if (!m) return std::nullopt;
  product.m = *m;
  for (size_t axis = 0; axis < product.n; ++axis)
    if (axis != *m) product.batches.push_back(axis);
  product.left = {pool.read_tensor(left), left};
  product.right = {pool.read_tensor(right), right};
  return product;
}

}  // namespace adjit::sched
