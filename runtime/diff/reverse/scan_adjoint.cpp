// runtime/diff/reverse/scan_adjoint.cpp -- building the reverse scan.
#include "runtime/diff/reverse/scan_adjoint.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/diff/partition/partition.hpp"
#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/diff/rules/dependence.hpp"
#include "runtime/diff/rules/reducers.hpp"
#include "runtime/diff/simplify/loops/defer_sums.hpp"

namespace adjit::diff {
namespace {

using Flags = std::vector<char>;

bool any_flag(const std::vector<TensorId>& tensors, const Flags& flags) {
  return std::ranges::any_of(tensors, [&](TensorId t) { return flags[t.value] != 0; });
}

bool real(const Graph& graph, TensorId tensor) { return is_float(graph.info(tensor).dtype); }

// Float tensors on which flagged ones depend differentiably.
void flow_backwards(const Graph& graph, Flags& flags) {
  for (size_t s = graph.stages.size(); s-- > 0;) {
    const Stage& stage = graph.stages[s];
    if (stage.stop_gradient || !any_flag(stage.results, flags)) continue;
    for (TensorId t : tensors_read(graph, stage))
      if (real(graph, t)) flags[t.value] = 1;
  }
}

bool is_carry(const Scan& scan, size_t k) { return k < scan.carries; }
bool is_fixed(const Scan& scan, size_t k) { return k >= scan.carries + scan.scanned; }

// One flag per input of the step: depends on something active, over any number of steps.
Flags varied_inputs(const Stage& primal, const std::function<bool(TensorId)>& active) {
  const Graph& body = *primal.scan->body;
  Flags inputs;
  for (size_t k = 0; k < body.inputs.size(); ++k)
    inputs.push_back(active(primal.operands[k]) && real(body, body.inputs[k]) ? 1 : 0);
  return dependent_inputs(*primal.scan, std::move(inputs));
}

// What leads to something with a cotangent, over any number of steps.
struct Useful {
  Flags tensors;  // of the body
  Flags carries;
};

Useful useful_parts(const Scan& scan, std::span<const Cotangent> cotangents) {
  const Graph& body = *scan.body;
  Useful useful{Flags(body.tensors.size(), 0), Flags(scan.carries, 0)};
  for (size_t k = 0; k < body.outputs.size(); ++k) {
    if (cotangents[k].zero() || !real(body, body.outputs[k])) continue;
    useful.tensors[body.outputs[k].value] = 1;
    if (is_carry(scan, k)) useful.carries[k] = 1;
  }
  for (bool changed = true; std::exchange(changed, false);) {
    flow_backwards(body, useful.tensors);
    for (size_t k = 0; k < scan.carries; ++k) {
      if (useful.carries[k] || !useful.tensors[body.inputs[k].value]) continue;
      useful.carries[k] = useful.tensors[body.outputs[k].value] = 1;
      changed = true;
    }
  }
  return useful;
}

// How the step is derived. Carries take part that are varied and useful; operands that are active
// and useful; stacked results with a cotangent.
ReverseOptions options_of_step(const Stage& primal, std::span<const Cotangent> cotangents,
                               const std::function<bool(TensorId)>& active) {
  const Scan& scan = *primal.scan;
  const Graph& body = *scan.body;
  const Flags varied = varied_inputs(primal, active);
  const Useful useful = useful_parts(scan, cotangents);
  ReverseOptions options;
  options.keep_outputs = true;
  for (size_t k = 0; k < body.inputs.size(); ++k) {
    if (varied[k]) options.reached.push_back(k);
    const bool takes_part =
        is_carry(scan, k) ? varied[k] && useful.carries[k]
                          : active(primal.operands[k]) && useful.tensors[body.inputs[k].value] != 0;
    if (takes_part && real(body, body.inputs[k])) options.wrt.push_back(k);
  }
  for (size_t k = 0; k < body.outputs.size(); ++k) {
    const bool takes_part =
        is_carry(scan, k) ? varied[k] && useful.carries[k] : !cotangents[k].zero();
    if (takes_part && real(body, body.outputs[k])) options.outputs.push_back(k);
  }
  return options;
}

// A tensor outside with one slice of this kind per step.
TensorId add_stacked(Graph& graph, int64_t trips, const std::string& suffix,
                     const TensorInfo& slice) {
  std::vector<int64_t> shape(slice.shape);
  shape.insert(shape.begin(), trips);
  return add_tensor(graph, slice.name + suffix, slice.dtype, std::move(shape));
}

// Where a value of `body`, the step of this stage of the graph, lies outside. An operand of the
// step lies there already; the scan stacks the others: carries as they enter a step, values in
// between.
Outside keep(Graph& graph, Stage& stage, Graph& body, TensorId value) {
  const Scan& scan = *stage.scan;
  const auto input = std::ranges::find(body.inputs, value);
  const auto k = static_cast<size_t>(input - body.inputs.begin());
  if (input != body.inputs.end() && !is_carry(scan, k))
    return {stage.operands[k], !is_fixed(scan, k)};
  for (size_t o = scan.carries; o < body.outputs.size(); ++o)
    if (body.outputs[o] == value) return {stage.results[o], true};
  body.outputs.push_back(value);
  stage.results.push_back(add_stacked(graph, scan.trips, "_saved", body.info(value)));
  return {stage.results.back(), true};
}

// Gives a scan the step `body`, whose outputs are those of its step, then residuals. Where each of
// these lies.
std::vector<Outside> keep_residuals(Graph& graph, size_t number, Graph body) {
  Stage& stage = graph.stages[number];
  Scan scan = *stage.scan;
  const auto outputs = static_cast<std::ptrdiff_t>(scan.body->outputs.size());
  const std::vector<TensorId> residuals(body.outputs.begin() + outputs, body.outputs.end());
  body.outputs.resize(scan.body->outputs.size());
  std::vector<Outside> kept;
  for (TensorId residual : residuals) kept.push_back(keep(graph, stage, body, residual));
  body.name = scan.body->name;
  scan.stacked = body.outputs.size() - scan.carries;
  scan.body = std::make_shared<const Graph>(std::move(body));
  stage.scan = std::make_shared<const Scan>(std::move(scan));
  return kept;
}

// The step of the reverse scan, and its inputs by their role, each with its operand.
struct ReverseStep {
  struct Input {
    TensorId inside, operand;
  };
  Graph graph;
  std::vector<Input> carried, scanned, fixed;
  std::vector<std::optional<Outside>> outside;  // per tensor of the step
};

// Cotangents of carries are carried, cotangents of stacked results and what was saved per step are
// scanned, the rest is fixed. The inputs of `step` are the residuals, then the cotangents of
// `outputs`, a list of numbers.
ReverseStep reverse_step(Graph& graph, const Stage& primal, Graph step,
                         const std::vector<Outside>& residuals, const std::vector<size_t>& outputs,
                         std::span<const Cotangent> cotangents) {
  ReverseStep reverse;
  reverse.outside.resize(step.tensors.size());
  for (size_t position = 0; position < outputs.size(); ++position) {
    const size_t k = outputs[position];
    const bool carry = is_carry(*primal.scan, k);
    const TensorId inside = step.inputs[residuals.size() + position];
    const TensorId operand = materialised(graph, primal.results[k], cotangents[k]);
    if (!carry) reverse.outside[inside.value] = Outside{operand, true};
    (carry ? reverse.carried : reverse.scanned).push_back({inside, operand});
  }
  for (size_t r = 0; r < residuals.size(); ++r) {
    const TensorId inside = step.inputs[r];
    const Outside& kept = residuals[r];
    reverse.outside[inside.value] = kept;
    (kept.sliced ? reverse.scanned : reverse.fixed).push_back({inside, kept.tensor});
  }
  reverse.graph = std::move(step);
  return reverse;
}

// Where gradients leave the reverse scan.
struct Gradients {
  struct Gradient {
    size_t operand;   // of the primal scan
    TensorId inside;  // of the step
  };
  std::vector<Gradient> carried, stacked;
  std::vector<Gradient> summed;  // over time, after the loop
};

// The step's gradient of an operand as a sum that is carried.
TensorId carry_sum(Graph& graph, const Stage& primal, ReverseStep& reverse,
                   const Gradients::Gradient& gradient) {
  Graph& step = reverse.graph;
  const TensorInfo info = step.info(gradient.inside);
  const TensorId sum = add_tensor(step, info.name + "_sum", info.dtype, info.shape);
  const TensorId zeros = materialised(graph, primal.operands[gradient.operand], Cotangent{});
  reverse.carried.push_back({sum, zeros});
  const DType wide = accumulator_of(info.dtype);
  ExprPool& pool = step.pool;
  const std::vector<ExprId> point = axes(pool, info.shape.size());
  const ExprId total = pool.add(pool.cast(read(step, sum, point), wide),
                                pool.cast(read(step, gradient.inside, point), wide));
  return add_compute(step, info.name, shape_box(info.shape), Combiner{},
                     {pool.cast(total, info.dtype)}, primal.lines)[0];
}

// Carries' gradients are carried, scanned operands' are stacked; fixed operands' are summed up
// after the loop where that is cheaper (defer_sums.hpp), else carried as sums. The outputs of the
// step are the gradients of `wrt`, a list of operands.
Gradients place_gradients(Graph& graph, const Stage& primal, ReverseStep& reverse,
                          const std::vector<size_t>& wrt, SumsOverTime& sums) {
  Gradients gradients;
  std::vector<Gradients::Gradient> fixed;
  for (size_t position = 0; position < wrt.size(); ++position) {
    const size_t k = wrt[position];
    auto& list = is_fixed(*primal.scan, k)   ? fixed
                 : is_carry(*primal.scan, k) ? gradients.carried
                                             : gradients.stacked;
    list.push_back({k, reverse.graph.outputs[position]});
  }
  for (const Gradients::Gradient& gradient : gradients.stacked) sums.stacks(gradient.inside);
  // The largest first: what is stacked for them serves the smaller ones.
  std::ranges::stable_sort(fixed, std::greater<>(), [&](const Gradients::Gradient& gradient) {
    return reverse.graph.info(gradient.inside).element_count();
  });
  for (const Gradients::Gradient& gradient : fixed) {
    if (sums.take(gradient.inside))
      gradients.summed.push_back(gradient);
    else
      gradients.carried.push_back({gradient.operand, carry_sum(graph, primal, reverse, gradient)});
  }
  return gradients;
}

// `stacked`: the tensors of the step that the loop stacks.
std::shared_ptr<const Scan> reverse_scan(const Scan& primal, const ReverseStep& reverse,
                                         const std::vector<Gradients::Gradient>& carried,
                                         const std::vector<TensorId>& stacked) {
  Graph body = reverse.graph;
  body.name = "d_" + primal.body->name;
  body.inputs.clear();
  body.outputs.clear();
  for (const auto* list : {&reverse.carried, &reverse.scanned, &reverse.fixed})
    for (const ReverseStep::Input& input : *list) body.inputs.push_back(input.inside);
  for (const Gradients::Gradient& gradient : carried) body.outputs.push_back(gradient.inside);
  body.outputs.insert(body.outputs.end(), stacked.begin(), stacked.end());
  Scan scan;
  scan.trips = primal.trips;
  scan.carries = reverse.carried.size();
  scan.scanned = reverse.scanned.size();
  scan.fixed = reverse.fixed.size();
  scan.stacked = stacked.size();
  scan.reverse = !primal.reverse;
  scan.body = std::make_shared<const Graph>(compact(body));
  return std::make_shared<const Scan>(std::move(scan));
}

// Appends the reverse scan. Its results are the carried gradients, the stacked ones, and what is
// stacked for sums over time.
std::vector<TensorId> append_reverse(Graph& graph, const Stage& primal, const ReverseStep& reverse,
                                     const Gradients& gradients, SumsOverTime& sums) {
  Stage stage;
  stage.kind = StageKind::Scan;
  stage.lines = primal.lines;
  stage.region = primal.region;
  for (const auto* list : {&reverse.carried, &reverse.scanned, &reverse.fixed})
    for (const ReverseStep::Input& input : *list) stage.operands.push_back(input.operand);
  for (const auto* list : {&gradients.carried, &gradients.stacked})
    for (const Gradients::Gradient& gradient : *list) {
      const TensorInfo info = graph.info(primal.operands[gradient.operand]);
      stage.results.push_back(add_tensor(graph, "d_" + info.name, info.dtype, info.shape));
    }
  std::vector<TensorId> stacked;
  for (const Gradients::Gradient& gradient : gradients.stacked) {
    sums.lies(gradient.inside, stage.results[gradients.carried.size() + stacked.size()]);
    stacked.push_back(gradient.inside);
  }
  for (TensorId inside : sums.stacked()) {
    stage.results.push_back(
        add_stacked(graph, primal.scan->trips, "_stacked", reverse.graph.info(inside)));
    sums.lies(inside, stage.results.back());
    stacked.push_back(inside);
  }
  if (stage.results.empty()) return {};
  stage.scan = reverse_scan(*primal.scan, reverse, gradients.carried, stacked);
  graph.stages.push_back(std::move(stage));
  return graph.stages.back().results;
}

}  // namespace

void derive_scan(Graph& graph, size_t stage, std::span<const Cotangent> cotangents,
                 const std::function<bool(TensorId)>& active,
                 const std::function<void(TensorId operand, TensorId gradient)>& report) {
  const Stage primal = graph.stages[stage];  // before anything is saved
  if (primal.scan->conditional)
    not_differentiable(primal,
                       "the number of steps of a while loop depends on data: reverse mode does not "
                       "know what to keep",
                       "use scan with a fixed number of steps (and select what a step changes), or "
                       "forward mode");
  const ReverseOptions options = options_of_step(primal, cotangents, active);
  if (options.wrt.empty() || options.outputs.empty()) return;
  // The step's forward with the values that its backward keeps, and that backward.
  const Graph& body = *primal.scan->body;
  Partition cut = partition(vjp(body, options), body.inputs.size(), body.outputs.size(), -1);
  const std::vector<Outside> residuals = keep_residuals(graph, stage, std::move(cut.forward));
  ReverseStep reverse =
      reverse_step(graph, primal, std::move(cut.backward), residuals, options.outputs, cotangents);
  SumsOverTime sums(reverse.graph, graph, primal.scan->trips, reverse.outside, primal.lines);
  const Gradients gradients = place_gradients(graph, primal, reverse, options.wrt, sums);
  const std::vector<TensorId> results = append_reverse(graph, primal, reverse, gradients, sums);
  auto result = results.begin();
  for (const auto* list : {&gradients.carried, &gradients.stacked})
    for (const Gradients::Gradient& gradient : *list) {
      const TensorId operand = primal.operands[gradient.operand];
      if (active(operand)) report(operand, *result);
      ++result;
    }
  for (const Gradients::Gradient& gradient : gradients.summed)
    report(primal.operands[gradient.operand], sums.sum(gradient.inside));
}

}  // namespace adjit::diff
