// runtime/graph/interpret/interpreter.cpp -- stages on arrays, one point after the other in domain
// order.
#include "runtime/graph/interpret/interpreter.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/graph/interpret/accumulator.hpp"
#include "runtime/graph/interpret/evaluator.hpp"
#include "runtime/graph/interpret/widen.hpp"

namespace adjit::graph {
namespace {

using Arrays = std::vector<const Array*>;

// Calls visit(point) for every point of the box, last axis fastest.
template <class Visit>
void for_each_point(std::span<const int64_t> extents, std::vector<int64_t>& point, size_t first,
                    Visit&& visit) {
  if (std::ranges::any_of(extents.subspan(first), [](int64_t n) { return n <= 0; })) return;
  std::fill(point.begin() + static_cast<std::ptrdiff_t>(first), point.end(), 0);
  for (;;) {
    visit();
    size_t k = point.size();
    while (k > first && ++point[k - 1] == extents[k - 1]) point[--k] = 0;
    if (k == first) return;
  }
}

void store(Array& array, int64_t linear, Scalar value) {
  store_element(array.bytes.data() + static_cast<size_t>(linear) * size_of(array.dtype),
                array.dtype, value);
}

std::vector<Array> run_compute(const Graph& graph, const Stage& stage, const Arrays& arrays) {
  const Domain& domain = stage.domain;
  std::vector<Array> results;
  for (TensorId id : stage.results)
    results.push_back(Array::zeros(graph.info(id).dtype, graph.info(id).shape));
  PointEvaluator bodies(graph, stage.bodies, arrays);
  Accumulator accumulator(graph, stage);
  std::vector<int64_t> point(domain.rank(), 0);
  std::vector<int64_t> outer(domain.output_rank, 0);
  int64_t linear = 0;
  for_each_point(std::span(domain.extents).first(domain.output_rank), outer, 0, [&] {
    std::ranges::copy(outer, point.begin());
    accumulator.reset();
    for_each_point(domain.extents, point, domain.output_rank, [&] {
      if (!domain.contains(point)) return;
      bodies.move_to(point);
      accumulator.add(bodies);
    });
    for (size_t k = 0; k < results.size(); ++k) store(results[k], linear, accumulator.value(k));
    ++linear;
  });
  return results;
}

// The position that the target names, or -1 when this point writes nothing.
int64_t target_position(const Graph& graph, const Stage& stage, const PointEvaluator& evaluator,
                        std::span<const int64_t> shape) {
  int64_t linear = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t coordinate = evaluator.value(1 + d).i;
    const bool inside = coordinate >= 0 && coordinate < shape[d];
    if (!inside && stage.out_of_range == OutOfRange::Error)
      throw Error(ErrorCode::Bounds, "scatter into '" + graph.info(stage.results[0]).name +
                                         "': index " + std::to_string(coordinate) +
                                         " of dimension " + std::to_string(d) +
                                         " is out of range 0:" + std::to_string(shape[d]) +
                                         "; choose a mode (drop, clip, wrap) or guard the domain");
    if (!inside && (stage.out_of_range == OutOfRange::Drop || shape[d] == 0)) return -1;
    if (stage.out_of_range == OutOfRange::Clip)
      coordinate = std::clamp<int64_t>(coordinate, 0, shape[d] - 1);
    if (stage.out_of_range == OutOfRange::Wrap) coordinate = floor_mod(coordinate, shape[d]);
    linear = linear * shape[d] + coordinate;
  }
  return linear;
}

std::vector<Array> run_scatter(const Graph& graph, const Stage& stage, const Arrays& arrays) {
  const TensorInfo& info = graph.info(stage.results[0]);
  Array result = Array::zeros(info.dtype, info.shape);
  std::vector<ExprId> roots{stage.bodies[0]};
  roots.insert(roots.end(), stage.target.begin(), stage.target.end());
  PointEvaluator evaluator(graph, roots, arrays);
  Accumulator accumulator(graph, stage);
  accumulator.reset();
  // Running values in the accumulator's type: a half result is rounded once, at the end.
  std::vector<Scalar> running(static_cast<size_t>(info.element_count()), accumulator.value(0));
  if (stage.initial.valid())
    for (size_t k = 0; k < running.size(); ++k)
      running[k] = load_element(arrays[stage.initial.value]->bytes.data() + k * size_of(info.dtype),
                                info.dtype);
  std::vector<int64_t> point(stage.domain.rank(), 0);
  for_each_point(stage.domain.extents, point, 0, [&] {
    if (!stage.domain.contains(point)) return;
    evaluator.move_to(point);
    const int64_t position = target_position(graph, stage, evaluator, info.shape);
    if (position < 0) return;
    accumulator.set(0, running[static_cast<size_t>(position)]);
    accumulator.add(evaluator);
    running[static_cast<size_t>(position)] = accumulator.value(0);
  });
  for (size_t k = 0; k < running.size(); ++k) store(result, static_cast<int64_t>(k), running[k]);
  std::vector<Array> results;
  results.push_back(std::move(result));
  return results;
}

// Row t of an array whose leading axis is time.
Array slice_of(const Array& array, int64_t t) {
  Array row = Array::zeros(array.dtype, {array.shape.begin() + 1, array.shape.end()});
  const std::byte* source = array.bytes.data() + row.bytes.size() * static_cast<size_t>(t);
  std::copy_n(source, row.bytes.size(), row.bytes.begin());
  return row;
}

std::vector<Array> operand_values(const Stage& stage, const Arrays& arrays) {
  std::vector<Array> values;
  for (TensorId operand : stage.operands) values.push_back(*arrays[operand.value]);
  return values;
}

// A conditional scan: carries change as long as the last one is true, other operands are fixed.
std::vector<Array> run_while(const Scan& scan, std::vector<Array> values) {
  while (values[scan.carries - 1].at(0) != 0) {
    std::vector<Array> next = interpret(*scan.body, values);
    std::ranges::move(next, values.begin());
  }
  values.resize(scan.carries);
  return values;
}

std::vector<Array> run_call(const Stage& stage, const Arrays& arrays) {
  if (!stage.call)
    throw Error(ErrorCode::Invalid, "the interpreter cannot call '" + stage.callee + "'");
  return interpret(*stage.call->body, operand_values(stage, arrays));
}

std::vector<Array> run_scan(const Graph& graph, const Stage& stage, const Arrays& arrays) {
  const Scan& scan = *stage.scan;
  if (scan.conditional) return run_while(scan, operand_values(stage, arrays));
  std::vector<Array> results;
  for (size_t k = 0; k < scan.carries; ++k) results.push_back(*arrays[stage.operands[k].value]);
  for (size_t k = scan.carries; k < stage.results.size(); ++k) {
    const TensorInfo& info = graph.info(stage.results[k]);
    results.push_back(Array::zeros(info.dtype, info.shape));
  }
  for (int64_t step = 0; step < scan.trips; ++step) {
    const int64_t t = scan.reverse ? scan.trips - 1 - step : step;
    std::vector<Array> inputs(
        std::make_move_iterator(results.begin()),
        std::make_move_iterator(results.begin() + static_cast<std::ptrdiff_t>(scan.carries)));
    for (size_t k = scan.carries; k < stage.operands.size(); ++k) {
      const Array& operand = *arrays[stage.operands[k].value];
      inputs.push_back(k < scan.carries + scan.scanned ? slice_of(operand, t) : operand);
    }
    std::vector<Array> outputs = interpret(*scan.body, inputs);
    for (size_t k = 0; k < scan.carries; ++k) results[k] = std::move(outputs[k]);
    for (size_t k = scan.carries; k < outputs.size(); ++k)
      std::ranges::copy(
          outputs[k].bytes,
          results[k].bytes.begin() + t * static_cast<std::ptrdiff_t>(outputs[k].bytes.size()));
  }
  return results;
}

std::vector<Array> run_stage(const Graph& graph, const Stage& stage, const Arrays& arrays) {
  switch (stage.kind) {
    case StageKind::Compute: return run_compute(graph, stage, arrays);
    case StageKind::Scatter: return run_scatter(graph, stage, arrays);
    case StageKind::Scan: return run_scan(graph, stage, arrays);
    case StageKind::Call: return run_call(stage, arrays);
  }
  throw Error(ErrorCode::Internal, "a stage of unknown kind");
}

void check_inputs(const Graph& graph, std::span<const Array> inputs) {
  if (inputs.size() != graph.inputs.size())
    throw Error(ErrorCode::Shape, "'" + graph.name + "' takes " +
                                      std::to_string(graph.inputs.size()) + " inputs, not " +
                                      std::to_string(inputs.size()));
  for (size_t k = 0; k < inputs.size(); ++k) {
    const TensorInfo& info = graph.info(graph.inputs[k]);
    if (inputs[k].dtype != info.dtype)
      throw Error(ErrorCode::DType, "input '" + info.name + "' is " +
                                        std::string(name_of(info.dtype)) + ", not " +
                                        std::string(name_of(inputs[k].dtype)));
    if (inputs[k].shape != info.shape)
      throw Error(ErrorCode::Shape, "input '" + info.name + "' has shape " +
                                        shape_text(info.shape) + ", not " +
                                        shape_text(inputs[k].shape));
  }
}

}  // namespace

std::vector<Array> interpret(const Graph& graph, std::span<const Array> inputs) {
  check_inputs(graph, inputs);
  std::vector<Array> owned(graph.tensors.size());
  Arrays arrays(graph.tensors.size(), nullptr);
  for (size_t k = 0; k < inputs.size(); ++k) arrays[graph.inputs[k].value] = &inputs[k];
  for (const ConstantData& constant : graph.constants) {
    const TensorInfo& info = graph.info(constant.tensor);
    owned[constant.tensor.value] = {info.dtype, info.shape, constant.bytes};
    arrays[constant.tensor.value] = &owned[constant.tensor.value];
  }
  for (const Stage& stage : graph.stages) {
    std::vector<Array> results = run_stage(graph, stage, arrays);
    for (size_t k = 0; k < results.size(); ++k) {
      const TensorId id = stage.results[k];
      owned[id.value] = std::move(results[k]);
      arrays[id.value] = &owned[id.value];
    }
  }
  std::vector<Array> outputs;
  for (TensorId id : graph.outputs) {
    invariant(arrays[id.value] != nullptr, "an output has no value");
    outputs.push_back(*arrays[id.value]);
  }
  return outputs;
}

std::vector<Array> interpret_in_double(const Graph& graph, std::span<const Array> inputs) {
  std::vector<Array> wide(inputs.begin(), inputs.end());
  for (Array& array : wide) array = widen(array);
  return interpret(widen(graph), wide);
}

}  // namespace adjit::graph
