// runtime/diff/batch/dependence.cpp -- one walk over the stages, a fixpoint over carries.
#include "runtime/diff/batch/dependence.hpp"

#include <algorithm>

namespace adjit::diff {
namespace {

void mark_scan(const Stage& stage, std::vector<char>& marked) {
  const std::vector<char> inputs = batched_step_inputs(stage, marked);
  const std::vector<char> outputs = batched_outputs(*stage.scan->body, inputs);
  for (size_t k = 0; k < stage.results.size(); ++k)
    marked[stage.results[k].value] = k < stage.scan->carries ? inputs[k] : outputs[k];
}

void mark_call(const Stage& stage, std::vector<char>& marked) {
  std::vector<char> inputs;
  for (TensorId operand : stage.operands) inputs.push_back(marked[operand.value]);
  const std::vector<char> outputs = batched_outputs(*stage.call->body, inputs);
  for (size_t k = 0; k < outputs.size(); ++k) marked[stage.results[k].value] = outputs[k];
}

}  // namespace

std::vector<char> batched_tensors(const Graph& graph, std::span<const char> inputs) {
  std::vector<char> marked(graph.tensors.size(), 0);
  for (size_t k = 0; k < inputs.size(); ++k) marked[graph.inputs[k].value] = inputs[k];
  for (const Stage& stage : graph.stages) {
    const std::vector<TensorId> reads = tensors_read(graph, stage);
    if (std::ranges::none_of(reads, [&](TensorId t) { return marked[t.value] != 0; })) continue;
    if (stage.kind == StageKind::Scan) {
      mark_scan(stage, marked);
    } else if (stage.call && !stage.call->forward) {
      mark_call(stage, marked);
    } else {
      for (TensorId result : stage.results) marked[result.value] = 1;
    }
  }
  return marked;
}

std::vector<char> batched_step_inputs(const Stage& stage, std::span<const char> tensors) {
  std::vector<char> inputs;
  for (TensorId operand : stage.operands) inputs.push_back(tensors[operand.value]);
  for (bool changed = true; changed;) {
    const std::vector<char> outputs = batched_outputs(*stage.scan->body, inputs);
    changed = false;
    for (size_t k = 0; k < stage.scan->carries; ++k) {
      changed = changed || (outputs[k] && !inputs[k]);
      inputs[k] = inputs[k] || outputs[k] ? 1 : 0;
    }
  }
  // Elements that take different numbers of steps differ in every carry.
  if (stage.scan->conditional && inputs[stage.scan->carries - 1])
    std::fill_n(inputs.begin(), stage.scan->carries, char{1});
  return inputs;
}

std::vector<char> batched_outputs(const Graph& graph, std::span<const char> inputs) {
  const std::vector<char> marked = batched_tensors(graph, inputs);
  std::vector<char> outputs;
  for (TensorId output : graph.outputs) outputs.push_back(marked[output.value]);
  return outputs;
}

}  // namespace adjit::diff
