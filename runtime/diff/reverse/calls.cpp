// runtime/diff/reverse/calls.cpp -- calls of sub-graphs: their derivatives, and their end.
#include "runtime/diff/reverse/calls.hpp"

#include <algorithm>
#include <utility>

#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/diff/rules/dependence.hpp"
#include "runtime/diff/rules/reducers.hpp"
#include "runtime/graph/splice.hpp"
#include "runtime/graph/subgraphs.hpp"

namespace adjit::diff {
namespace {

using Active = std::function<bool(TensorId)>;
using Report = std::function<void(TensorId, TensorId)>;

bool is_real(const Graph& graph, TensorId tensor) { return is_float(graph.info(tensor).dtype); }

void refuse_closed(const Graph& graph, const Stage& stage, const Active& active) {
  for (TensorId operand : std::span(stage.operands).last(stage.call->closed))
    if (active(operand))
      not_differentiable(stage,
                         "the gradient by hand of '" + stage.callee + "' does not reach '" +
                             graph.info(operand).name +
                             "', a differentiated value that the function closes over",
                         "pass it as an argument");
}

// The call becomes one of its forward, of which it takes so many results as it has.
void call_forward(Stage& stage) {
  auto plain = std::make_shared<Call>();
  Graph forward = *stage.call->forward;
  forward.outputs.resize(stage.results.size());
  plain->body = std::make_shared<const Graph>(std::move(forward));
  stage.call = std::move(plain);
}

// The forward with residuals in the stage's place; the residuals.
std::vector<TensorId> run_forward(Graph& graph, size_t index) {
  const std::shared_ptr<const Call> custom = graph.stages[index].call;
  const size_t results = graph.stages[index].results.size();
  std::vector<TensorId> residuals;
  for (size_t k = results; k < custom->forward->outputs.size(); ++k) {
    const TensorInfo& t = custom->forward->info(custom->forward->outputs[k]);
    residuals.push_back(add_tensor(graph, t.name, t.dtype, t.shape));
  }
  Stage& stage = graph.stages[index];
  stage.results.insert(stage.results.end(), residuals.begin(), residuals.end());
  call_forward(stage);
  return residuals;
}

void derive_custom(Graph& graph, size_t index, std::span<const Cotangent> cotangents,
                   const Active& active, const Report& report) {
  const Stage stage = graph.stages[index];  // as it was: the forward takes its place
  refuse_closed(graph, stage, active);
  std::vector<TensorId> arguments = run_forward(graph, index);
  for (size_t k = 0; k < stage.results.size(); ++k)
    if (is_real(graph, stage.results[k]))
      arguments.push_back(materialised(graph, stage.results[k], cotangents[k]));
  const std::vector<TensorId> gradients =
      splice(graph, *stage.call->backward, arguments, stage.lines);
  size_t next = 0;
  for (TensorId operand :
       std::span(stage.operands).first(stage.operands.size() - stage.call->closed)) {
    if (!is_real(graph, operand)) continue;
    if (active(operand)) report(operand, gradients[next]);
    ++next;
  }
}

std::vector<char> inputs_used(const Graph& graph) {
  std::vector<char> used(graph.tensors.size(), 0);
  for (const Stage& stage : graph.stages)
    for (TensorId t : tensors_read(graph, stage)) used[t.value] = 1;
  for (TensorId t : graph.outputs) used[t.value] = 1;
  return used;
}

// A call of a derivative, without the inputs that it does not need.
void append_call(Graph& graph, const Stage& like, Graph derived, std::vector<TensorId> arguments,
                 std::vector<TensorId> results) {
  const std::vector<char> used = inputs_used(derived);
  const std::vector<TensorId> inputs = std::exchange(derived.inputs, {});
  Stage stage;
  stage.kind = StageKind::Call;
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (!used[inputs[k].value]) continue;
    derived.inputs.push_back(inputs[k]);
    stage.operands.push_back(arguments[k]);
  }
  derived.name = "d_" + like.callee;
  stage.callee = derived.name;
  stage.results = std::move(results);
  stage.lines = like.lines;
  Call call;
  call.recompute = true;
  call.body = std::make_shared<const Graph>(compact(derived));
  stage.call = std::make_shared<const Call>(std::move(call));
  graph.stages.push_back(std::move(stage));
}

void derive_body(Graph& graph, size_t index, std::span<const Cotangent> cotangents,
                 const Active& active, const Report& report) {
  const Stage stage = graph.stages[index];
  ReverseOptions options;
  std::vector<TensorId> arguments(stage.operands), results;
  for (size_t k = 0; k < stage.operands.size(); ++k)
    if (is_real(graph, stage.operands[k]) && active(stage.operands[k])) options.wrt.push_back(k);
  for (size_t k = 0; k < stage.results.size(); ++k) {
    if (!is_real(graph, stage.results[k]) || cotangents[k].zero()) continue;
    options.outputs.push_back(k);
    arguments.push_back(materialised(graph, stage.results[k], cotangents[k]));
  }
  const Graph derived = vjp(*stage.call->body, options);
  if (stage.call->recompute) {
    for (size_t k : options.wrt) {
      const TensorInfo info = graph.info(stage.operands[k]);
      results.push_back(add_tensor(graph, "d_" + info.name, info.dtype, info.shape));
    }
    append_call(graph, stage, derived, std::move(arguments), results);
  } else {
    results = splice(graph, derived, arguments, stage.lines);
  }
  for (size_t k = 0; k < options.wrt.size(); ++k)
    report(stage.operands[options.wrt[k]], results[k]);
}

bool holds_gradient_by_hand(const Graph& graph) {
  return std::ranges::any_of(graph.stages, [](const Stage& stage) {
    if (stage.scan) return holds_gradient_by_hand(*stage.scan->body);
    return stage.call && (stage.call->forward || holds_gradient_by_hand(*stage.call->body));
  });
}

// A body with flagged inputs, with the forwards in it run.
std::shared_ptr<const Graph> with_forwards(const std::shared_ptr<const Graph>& body,
                                           std::span<const char> flagged) {
  if (!holds_gradient_by_hand(*body)) return body;
  std::vector<char> marked(body->tensors.size(), 0);
  for (size_t k = 0; k < flagged.size(); ++k) marked[body->inputs[k].value] = flagged[k];
  marked = differentiably_dependent(*body, std::move(marked));
  Graph changed = *body;
  for (size_t s = 0; s < changed.stages.size(); ++s) run_forwards(changed, s, marked);
  return std::make_shared<const Graph>(std::move(changed));
}

bool is_plain(const Call& call) { return !call.recompute && !call.forward; }

// Expands from the outside in: what stands inside a call follows in its place.
class Expander {
 public:
  explicit Expander(bool plain_only) : plain_only_(plain_only) {}

  Graph operator()(const Graph& graph) {
    Graph now = graph;
    for (const Stage& stage : graph.stages) next_region_ = std::max(next_region_, stage.region + 1);
    bool any = true;
    while (any) {
      any = std::ranges::any_of(now.stages, [&](const Stage& s) { return expands(s); });
      if (any) now = expand_level(std::move(now));
    }
    return with_subgraphs(std::move(now),
                          [&](const Graph& inner) { return Expander(plain_only_)(inner); });
  }

 private:
  bool expands(const Stage& stage) const {
    if (stage.kind != StageKind::Call || !stage.call) return false;
    return !plain_only_ || (is_plain(*stage.call) && !stage.stop_gradient);
  }

  // All calls of this graph; calls inside them remain. Linear in the stages there are afterwards.
  Graph expand_level(Graph graph) {
    std::vector<Stage> stages = std::exchange(graph.stages, {});
    std::vector<TensorId> now(graph.tensors.size());
    for (uint32_t t = 0; t < now.size(); ++t) now[t] = TensorId{t};
    bool renamed = false;
    for (Stage& stage : stages) {
      if (renamed) rename_reads(graph, stage, now);
      if (!expands(stage)) {
        graph.stages.push_back(std::move(stage));
        continue;
      }
      const uint32_t region = stage.call->recompute ? next_region_++ : stage.region;
      const bool stop = stage.stop_gradient;
      const std::vector<TensorId> results =
          splice(graph, *stage.call->body, stage.operands, stage.lines, [&](Stage& inner) {
            inner.region = region;
            inner.stop_gradient = inner.stop_gradient || stop;
          });
      for (size_t k = 0; k < results.size(); ++k) now[stage.results[k].value] = results[k];
      renamed = true;
    }
    for (TensorId& output : graph.outputs)
      if (output.value < now.size()) output = now[output.value];
    return graph;
  }

  static void rename_reads(Graph& graph, Stage& stage, const std::vector<TensorId>& now) {
    for (TensorId& operand : stage.operands) operand = now[operand.value];
    if (stage.initial.valid()) stage.initial = now[stage.initial.value];
    ExprPool& pool = graph.pool;
    Rebuilder rebuild(pool, pool, [&](ExprId leaf, std::span<const ExprId> operands) {
      if (!pool.is(leaf, Op::Read)) return ExprId{};
      const bool guarded = pool.read_predicate(leaf).valid();
      return pool.read(now[pool.read_tensor(leaf).value], pool.dtype(leaf),
                       operands.first(operands.size() - (guarded ? 1 : 0)),
                       guarded ? operands.back() : ExprId{});
    });
    for (auto* list : {&stage.bodies, &stage.target})
      for (ExprId& id : *list) id = rebuild(id);
  }

  bool plain_only_;
  uint32_t next_region_ = 1;
};

}  // namespace

void derive_call(Graph& graph, size_t index, std::span<const Cotangent> cotangents,
                 const Active& active, const Report& report) {
  const Stage& stage = graph.stages[index];
  if (!stage.call)
    not_differentiable(stage, "'" + stage.callee + "' has no derivative",
                       "give it one with custom_vjp, or stop_gradient its result");
  if (stage.call->forward)
    derive_custom(graph, index, cotangents, active, report);
  else
    derive_body(graph, index, cotangents, active, report);
}

void run_forwards(Graph& graph, size_t index, const std::vector<char>& marked) {
  Stage& stage = graph.stages[index];
  if ((!stage.call && !stage.scan) || stage.stop_gradient) return;
  std::vector<char> flagged;
  for (TensorId operand : stage.operands) flagged.push_back(marked[operand.value]);
  if (std::ranges::find(flagged, 1) == flagged.end()) return;
  if (stage.scan) {
    Scan scan = *stage.scan;
    scan.body = with_forwards(scan.body, dependent_inputs(scan, std::move(flagged)));
    stage.scan = std::make_shared<const Scan>(std::move(scan));
  } else if (stage.call->forward) {
    call_forward(stage);
  } else {
    Call call = *stage.call;
    call.body = with_forwards(call.body, flagged);
    stage.call = std::make_shared<const Call>(std::move(call));
  }
}

Graph expand_calls(const Graph& graph) { return Expander(false)(graph); }

Graph expand_plain_calls(const Graph& graph) { return Expander(true)(graph); }

}  // namespace adjit::diff
