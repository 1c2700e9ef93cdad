// runtime/diff/simplify/masked_sums.cpp -- a condition that no term of a sum changes is asked once,
// behind it.
//
// Worked example, the gradient of what has been clipped:
//   y[i] = sum_k select(0 < x[i], a[i, k] * b[k], 0)   ->   s[i] = sum_k a[i, k] * b[k]
//                                                           y[i] = select(0 < x[i], s[i], 0)
// The sum is then one of products, which other passes and schedules know.
#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/diff/rewrite/factors.hpp"
#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/verify/verify_bounds.hpp"

namespace adjit::diff {
namespace {

// select(condition, value, 0).
struct Masked {
  ExprId condition, value;
};

std::optional<Masked> masked(const ExprPool& pool, const Stage& stage) {
  if (stage.kind != StageKind::Compute || stage.bodies.size() != 1 ||
      stage.combiner.kind != CombinerKind::Sum || stage.domain.rank() >= 63)
    return std::nullopt;
  const ExprId body = stage.bodies[0];
  if (!pool.is(body, Op::Select)) return std::nullopt;
  const std::optional<double> otherwise = pool.value(pool.operand(body, 2));
  if (!otherwise || *otherwise != 0) return std::nullopt;
  const AxisSet outputs = bit(stage.domain.output_rank) - 1;
  const ExprId condition = pool.operand(body, 0);
  if ((axes_used(pool, condition) & ~outputs) != 0) return std::nullopt;
  return Masked{condition, pool.operand(body, 1)};
}

// The stage behind the sum: the condition is asked at every point of the result, also at those that
// rows of the sum's domain leave out.
Stage behind(Graph& graph, const Stage& stage, const Masked& mask, TensorId sum) {
  const std::vector<int64_t> shape = graph.info(sum).shape;
  const ExprId whole = read(graph, sum, axes(graph.pool, shape.size()));
  const ExprId zero = graph.pool.constant(0, graph.pool.dtype(whole));
  Stage masked = stage;
  masked.domain = shape_box(shape);
  masked.combiner = {};
  masked.bodies = {graph.pool.select(mask.condition, whole, zero)};
  return masked;
}

// Whether every read of a stage stays in bounds without a condition.
bool reads_inside(const Graph& graph, const Stage& stage) {
  try {
    verify_bounds(graph, stage);
    return open_indices(graph, stage).empty();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Graph masks_behind_sums(Graph graph) {
  std::vector<Stage> stages = std::move(graph.stages);
  graph.stages.clear();
  for (Stage& stage : stages) {
    const std::optional<Masked> mask = masked(graph.pool, stage);
    if (mask) {
      Stage sum = stage;
      sum.bodies = {mask->value};
      const TensorInfo info = graph.info(stage.results[0]);
      sum.results = {add_tensor(graph, info.name + "_sum", info.dtype, info.shape)};
      Stage masked_stage = behind(graph, stage, *mask, sum.results[0]);
      if (reads_inside(graph, sum) && reads_inside(graph, masked_stage)) {
        graph.stages.push_back(std::move(sum));
        stage = std::move(masked_stage);
      } else {
        graph.tensors.pop_back();
      }
    }
    graph.stages.push_back(std::move(stage));
  }
  return graph;
}

}  // namespace adjit::diff
