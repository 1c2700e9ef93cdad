// autosched/gpu/products/product.cpp -- whether a stage has the form of a product.
#include "autosched/gpu/products/product.hpp"

#include <utility>
#include <vector>

#include "autosched/moves/moves.hpp"
#include "autosched/program/points.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
namespace {

// A factor as the read that it is, perhaps under a cast; invalid when it is none.
ExprId read_of(const ExprPool& pool, ExprId factor) {
  if (pool.is(factor, Op::Cast)) factor = pool.operand(factor, 0);
  return pool.is(factor, Op::Read) ? factor : ExprId{};
}

// The axes of an index that is an axis by itself, or the points of k in one of its parts; none
// where it is anything else.
std::vector<size_t> axes_of(const Domain& domain, const Affine& form) {
  std::vector<size_t> axes;
  for (size_t axis = 0; axis < form.size(); ++axis)
    if (form.coefficient(axis) != 0) axes.push_back(axis);
  if (form.constant() != 0 || axes.empty() || axes.size() > 2 || axes.back() >= domain.rank() ||
      form.coefficient(axes.back()) != 1)
    return {};
  const bool of_part = axes.back() == domain.output_rank &&
                       form.coefficient(axes.front()) == domain.extents[axes.back()];
  return axes.size() == 1 || of_part ? axes : std::vector<size_t>();
}

// Which axes the indices of a read are, each once; nullopt where an index is anything else.
std::optional<std::vector<bool>> axes_read(const ExprPool& pool, ExprId read,
                                           const Domain& domain) {
  if (pool.read_predicate(read).valid()) return std::nullopt;
  std::vector<bool> axes(domain.rank(), false);
  const IndexMap map = index_map(pool, pool.read_index(read), domain);
  for (const std::optional<Affine>& form : map.forms) {
    const std::vector<size_t> found = form ? axes_of(domain, *form) : std::vector<size_t>();
    if (found.empty()) return std::nullopt;
    for (const size_t axis : found) {
      if (axes[axis]) return std::nullopt;
      axes[axis] = true;
    }
  }
  return axes;
}

// The axis of the parts of k that a read goes through; nullopt: its k has none.
std::optional<size_t> part_of_k(const ExprPool& pool, ExprId read, const Domain& domain) {
  for (const std::optional<Affine>& form : index_map(pool, pool.read_index(read), domain).forms)
    if (const std::vector<size_t> axes = axes_of(domain, *form); axes.size() == 2)
      return axes.front();
  return std::nullopt;
}

// Of a box, all of which tiles compute, what rows leave. Less than contractions are asked for (a
// guess): when axes are joined, it is counted at other points.
constexpr double kLeastShareOfBox = 0.2;

bool sums_over_one_axis(const LoweredGraph& graph, const Stage& stage) {
  return stage.kind == StageKind::Compute && !running_of(graph, stage) &&
         is_product_sum(graph, stage) && stage.domain.reduction_rank() == 1 &&
         share_of_box(stage.domain) >= kLeastShareOfBox;
}

}  // namespace

std::optional<Product> product_of(const LoweredGraph& graph, const Stage& stage) {
  const size_t outputs = stage.domain.output_rank;
  if (!sums_over_one_axis(graph, stage) || outputs < 2) return std::nullopt;
  const ExprPool& pool = graph.pool;
  const ExprId body = stage.bodies.front();
  ExprId left = read_of(pool, pool.operand(body, 0)), right = read_of(pool, pool.operand(body, 1));
  if (!left.valid() || !right.valid()) return std::nullopt;
  auto of_left = axes_read(pool, left, stage.domain);
  auto of_right = axes_read(pool, right, stage.domain);
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
  // The parts of k are no rows of an operand.
  for (const ExprId read : {left, right})
    if (const auto part = part_of_k(pool, read, stage.domain);
        part && (*part == product.m || *part == product.n))
      return std::nullopt;
  product.left = {pool.read_tensor(left), left};
  product.right = {pool.read_tensor(right), right};
  return product;
}

}  // namespace adjit::sched
