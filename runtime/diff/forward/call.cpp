// runtime/diff/forward/call.cpp -- calls of bodies with tangents.
#include "runtime/diff/forward/call.hpp"

#include "runtime/diff/forward/forward.hpp"
#include "runtime/diff/rules/dependence.hpp"
#include "runtime/diff/rules/reducers.hpp"

namespace adjit::diff {
namespace {

void refuse(const Stage& stage) {
  if (!stage.call)
    not_differentiable(stage, "'" + stage.callee + "' has no derivative",
                       "stop_gradient its operands or its result, or write it with operators");
  if (stage.call->forward)
    not_differentiable(stage,
                       "'" + stage.callee +
                           "' has a gradient by hand, which reverse mode takes and forward mode "
                           "cannot",
                       "use grad, vjp or jacobian first (forward mode applies to their results), "
                       "or leave the gradient to be derived");
}

// One flag per output of the body: whether it may have a tangent.
std::vector<char> outputs_with_tangents(const Graph& body, const std::vector<size_t>& wrt) {
  std::vector<char> marked(body.tensors.size(), 0);
  for (size_t k : wrt) marked[body.inputs[k].value] = 1;
  marked = differentiably_dependent(body, std::move(marked));
  std::vector<char> outputs;
  for (TensorId output : body.outputs) outputs.push_back(marked[output.value]);
  return outputs;
}

}  // namespace

void push_call(Graph& graph, TangentMap& map, size_t index, bool clean) {
  Stage stage = graph.stages[index];
  refuse(stage);
  const Graph& body = *stage.call->body;
  ForwardOptions options;
  options.keep_outputs = true;
  options.clean = clean;
  const std::vector<TensorId> operands = stage.operands, results = stage.results;
  for (size_t k = 0; k < operands.size(); ++k) {
    if (!map.of(operands[k]).valid()) continue;
    options.wrt.push_back(k);
    stage.operands.push_back(map.of(operands[k]));
  }
  const std::vector<char> moves = outputs_with_tangents(body, options.wrt);
  Graph derived = jvp(body, options);
  const std::vector<TensorId> outputs = derived.outputs;
  derived.outputs.resize(results.size());
  size_t next = results.size();
  for (size_t k = 0; k < results.size(); ++k) {
    if (!is_float(graph.info(results[k]).dtype)) continue;
    const TensorId tangent = outputs[next++];
    if (!moves[k]) continue;
    derived.outputs.push_back(tangent);
    stage.results.push_back(add_tangent(graph, map, results[k]));
  }
  Call call = *stage.call;
  call.body = std::make_shared<const Graph>(compact(derived));
  stage.call = std::make_shared<const Call>(std::move(call));
  graph.stages[index] = std::move(stage);
}

}  // namespace adjit::diff
