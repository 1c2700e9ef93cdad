// runtime/diff/forward/scan.cpp -- building the scan of values and tangents.
#include "runtime/diff/forward/scan.hpp"

#include <algorithm>

#include "runtime/diff/forward/forward.hpp"
#include "runtime/diff/rules/dependence.hpp"

namespace adjit::diff {
namespace {

class ScanTangent {
 public:
  ScanTangent(Graph& graph, TangentMap& map, size_t stage)
      : graph_(graph),
        map_(map),
        stage_(graph.stages[stage]),
        scan_(*stage_.scan),
        body_(*scan_.body) {}

  void operator()(bool clean) {
    find_active();
    if (std::ranges::none_of(active_inputs_, [](char on) { return on != 0; })) return;
    ForwardOptions options;
    for (size_t k = 0; k < body_.inputs.size(); ++k)
      if (active_inputs_[k]) options.wrt.push_back(k);
    options.keep_outputs = true;
    options.clean = clean;
    step_ = jvp(body_, options);
    name_tangents(options.wrt);
    build();
  }

 private:
  // An input is active when its operand has a tangent; a carry also when the step makes it depend
  // on an active input.
  void find_active() {
    for (size_t k = 0; k < body_.inputs.size(); ++k)
      active_inputs_.push_back(map_.of(stage_.operands[k]).valid() ? 1 : 0);
    active_inputs_ = dependent_inputs(scan_, std::move(active_inputs_));
    std::vector<char> marked(body_.tensors.size(), 0);
    for (size_t k = 0; k < body_.inputs.size(); ++k)
      marked[body_.inputs[k].value] = active_inputs_[k];
    marked = differentiably_dependent(body_, std::move(marked));
    for (TensorId output : body_.outputs) active_outputs_.push_back(marked[output.value]);
    // A carry that starts with a tangent keeps one even where the step drops it.
    for (size_t k = 0; k < scan_.carries; ++k) active_outputs_[k] = active_inputs_[k];
  }

  // Inputs and outputs of step_ that are tangents, by the position of what they are tangents of.
  void name_tangents(const std::vector<size_t>& wrt) {
    tangent_input_.resize(body_.inputs.size());
    for (size_t position = 0; position < wrt.size(); ++position)
      tangent_input_[wrt[position]] = step_.inputs[body_.inputs.size() + position];
    size_t next = body_.outputs.size();
    for (TensorId output : body_.outputs) {
      const bool real = is_float(body_.info(output).dtype);
      tangent_output_.push_back(real ? step_.outputs[next] : TensorId{});
      next += real ? 1 : 0;
    }
  }

  // Inputs [first, last) of the body, then their tangents; returns how many.
  size_t add_inputs(size_t first, size_t last) {
    const size_t before = inputs_.size();
    for (size_t k = first; k < last; ++k) {
      inputs_.push_back(step_.inputs[k]);
      operands_.push_back(stage_.operands[k]);
    }
    for (size_t k = first; k < last; ++k) {
      if (!active_inputs_[k]) continue;
      inputs_.push_back(tangent_input_[k]);
      operands_.push_back(tangent_or_zeros(graph_, map_, stage_.operands[k]));
    }
    return inputs_.size() - before;
  }

  size_t add_outputs(size_t first, size_t last) {
    const size_t before = outputs_.size();
    for (size_t k = first; k < last; ++k) {
      outputs_.push_back(step_.outputs[k]);
      results_.push_back(stage_.results[k]);
    }
    for (size_t k = first; k < last; ++k) {
      if (!active_outputs_[k]) continue;
      outputs_.push_back(tangent_output_[k]);
      results_.push_back(add_tangent(graph_, map_, stage_.results[k]));
    }
    return outputs_.size() - before;
  }

  void build() {
    // Zero tangents of initial carries are written out by stages, which must stand before the scan.
    graph_.stages.pop_back();
    const size_t sliced = scan_.carries + scan_.scanned;
    Scan scan = scan_;
    // What a conditional scan goes on by has no tangent, and stays the last carry.
    const size_t values = scan_.carries - (scan_.conditional ? 1 : 0);
    scan.carries = add_inputs(0, values);
    scan.carries += add_inputs(values, scan_.carries);
    scan.scanned = add_inputs(scan_.carries, sliced);
    scan.fixed = add_inputs(sliced, body_.inputs.size());
    add_outputs(0, values);
    add_outputs(values, scan_.carries);
    scan.stacked = add_outputs(scan_.carries, body_.outputs.size());
    step_.inputs = inputs_;
    step_.outputs = outputs_;
    scan.body = std::make_shared<const Graph>(compact(step_));
    Stage stage = stage_;
    stage.scan = std::make_shared<const Scan>(std::move(scan));
    stage.operands = operands_;
    stage.results = results_;
    graph_.stages.push_back(std::move(stage));
  }

  Graph& graph_;
  TangentMap& map_;
  const Stage stage_;  // a copy: stages are added
  const Scan scan_;
  const Graph& body_;
  std::vector<char> active_inputs_, active_outputs_;      // of the body
  Graph step_;                                            // becomes the body of the new scan
  std::vector<TensorId> tangent_input_, tangent_output_;  // of step_, by position in body_
  std::vector<TensorId> inputs_, outputs_;                // of step_, in the new order
  std::vector<TensorId> operands_, results_;              // of graph_, likewise
};

}  // namespace

void push_scan(Graph& graph, TangentMap& map, size_t stage, bool clean) {
  invariant(stage + 1 == graph.stages.size(), "the scan is the last stage so far");
  ScanTangent(graph, map, stage)(clean);
}

}  // namespace adjit::diff
