// tests/runtime/graph/random_scan.hpp -- scans whose step is a random graph (random_graph.hpp).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {

/// The first input of the step is its carry, the second, if chance wants it, scanned, the others
/// are fixed; one result is stacked. The carry starts from an input or from a stage, and what the
/// scan leaves is read in another order.
inline Graph random_scan(uint64_t seed, const RandomGraphOptions& options) {
  Random random(seed + 12345);
  Graph step = random_graph(seed, options);
  ExprPool& pool = step.pool;
  const auto element = [](Graph& graph, TensorId tensor, bool reversed) {
    std::vector<ExprId> index;
    for (size_t d = 0; d < graph.info(tensor).shape.size(); ++d) {
      const ExprId at = graph.pool.axis(d);
      const int64_t last = graph.info(tensor).shape[d] - 1;
      index.push_back(reversed ? graph.pool.sub(graph.pool.constant_int(last), at) : at);
    }
    return read(graph, tensor, index);
  };
  const TensorInfo carry = step.info(step.inputs[0]);
  ExprId next = element(step, step.inputs[0], random.chance(50));
  const TensorInfo made = step.info(step.outputs[0]);
  if (made.shape == carry.shape && carry.dtype != DType::Bool)
    next = pool.add(next, pool.cast(element(step, step.outputs[0], false), carry.dtype));
  if (is_float(carry.dtype)) next = pool.make(Op::Tanh, {next});
  const TensorId kept = add_compute(step, "kept", shape_box(carry.shape), {}, {next}).front();
  step.outputs = {kept, step.outputs[1]};

  Scan scan;
  scan.trips = random.between(1, 4);
  scan.reverse = random.chance(40);
  scan.carries = 1;
  scan.scanned = step.inputs.size() > 1 && random.chance(60) ? 1 : 0;
  scan.fixed = step.inputs.size() - 1 - scan.scanned;
  scan.stacked = 1;
  Graph graph;
  Stage stage;
  stage.kind = StageKind::Scan;
  for (size_t k = 0; k < step.inputs.size(); ++k) {
    const TensorInfo& info = step.info(step.inputs[k]);
    std::vector<int64_t> shape = info.shape;
    if (k == 1 && scan.scanned == 1) shape.insert(shape.begin(), scan.trips);
    TensorId operand = add_input(graph, "x" + std::to_string(k), info.dtype, shape);
    if (k == 0 && random.chance(50))
      operand = add_compute(graph, "start", shape_box(shape), {}, {element(graph, operand, true)})
                    .front();
    stage.operands.push_back(operand);
  }
  std::vector<int64_t> stacked = step.info(step.outputs[1]).shape;
  stacked.insert(stacked.begin(), scan.trips);
  stage.results = {add_tensor(graph, "last", carry.dtype, carry.shape),
                   add_tensor(graph, "all", step.info(step.outputs[1]).dtype, stacked)};
  scan.body = std::make_shared<const Graph>(std::move(step));
  stage.scan = std::make_shared<const Scan>(std::move(scan));
  const std::vector<TensorId> results = stage.results;
  graph.stages.push_back(std::move(stage));
  graph.outputs = results;
  for (TensorId id : results)
    graph.outputs.push_back(add_compute(graph, "backwards", shape_box(graph.info(id).shape), {},
                                        {element(graph, id, true)})
                                .front());
  return graph;
}

}  // namespace adjit::testing
