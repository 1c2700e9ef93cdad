// runtime/diff/batch/loop.cpp -- the loop until all elements have stopped.
#include "runtime/diff/batch/loop.hpp"

#include "runtime/diff/rewrite/rewrite.hpp"

namespace adjit::diff {
namespace {

// next where the element goes on, else what it was.
TensorId kept(Graph& step, TensorId going, TensorId next, TensorId now) {
  const TensorInfo info = step.info(next);
  Domain box;
  box.extents = info.shape;
  box.output_rank = info.shape.size();
  const std::vector<ExprId> point = axes(step.pool, box.output_rank);
  const ExprId goes = read(step, going, std::span(point).first(1));
  const ExprId after = read(step, next, point), before = read(step, now, point);
  return add_compute(step, info.name + "_kept", box, Combiner{},
                     {step.pool.select(goes, after, before)})[0];
}

}  // namespace

TensorId any_of(Graph& graph, TensorId each, int64_t size) {
  Domain domain;
  domain.extents = {size};
  Combiner combiner;
  combiner.kind = CombinerKind::Any;
  const ExprId index[] = {graph.pool.axis(0)};
  return add_compute(graph, "any", domain, combiner, {read(graph, each, index)})[0];
}

Scan batched_loop(const Scan& scan, std::span<const BatchAxis> in_axes, int64_t size) {
  const size_t carries = scan.carries;
  Graph step = vmap(*scan.body, in_axes, size, std::vector<BatchAxis>(carries, BatchAxis(0)));
  const TensorId going = step.inputs[carries - 1];
  for (size_t k = 0; k < carries; ++k)
    step.outputs[k] = kept(step, going, step.outputs[k], step.inputs[k]);
  const TensorId any = add_tensor(step, "any", DType::Bool, {});
  step.inputs.insert(step.inputs.begin() + static_cast<std::ptrdiff_t>(carries), any);
  step.outputs.push_back(any_of(step, step.outputs[carries - 1], size));
  Scan result = scan;
  result.carries = carries + 1;
  result.body = std::make_shared<const Graph>(compact(step));
  return result;
}

}  // namespace adjit::diff
