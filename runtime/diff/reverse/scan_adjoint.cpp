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

class ReverseScan {
 public:
  ReverseScan(Graph& graph, size_t stage, std::span<const Cotangent> cotangents,
              const std::function<bool(TensorId)>& active)
      : graph_(graph),
        index_(stage),
        stage_(graph.stages[stage]),
        scan_(*stage_.scan),
        body_(*scan_.body),
        cotangents_(cotangents),
        active_(active) {}

  void operator()(const std::function<void(TensorId, TensorId)>& report) {
    choose();
    if (options_.wrt.empty() || options_.outputs.empty()) return;
    cut_step();
    keep_residuals();
    place_inputs();
    place_gradients();
    append_reverse(report);
  }

 private:
  bool is_carry(size_t k) const { return k < scan_.carries; }
  bool is_scanned(size_t k) const {
    return k >= scan_.carries && k < scan_.carries + scan_.scanned;
  }
  bool is_fixed(size_t k) const { return k >= scan_.carries + scan_.scanned; }

  // Carries take part that depend on something active and lead to something with a cotangent, over
  // any number of steps; operands that lead there; stacked results with a cotangent.
  void choose() {
    const Flags varied = varied_inputs();
    Flags useful(body_.tensors.size(), 0);
    const Flags wanted = useful_carries(useful);
    for (size_t k = 0; k < body_.inputs.size(); ++k) {
      if (varied[k]) options_.reached.push_back(k);
      const bool takes_part =
          is_carry(k) ? varied[k] && wanted[k]
                      : active_(stage_.operands[k]) && useful[body_.inputs[k].value] != 0;
      if (takes_part && real(body_, body_.inputs[k])) options_.wrt.push_back(k);
    }
    for (size_t k = 0; k < body_.outputs.size(); ++k) {
      const bool takes_part = is_carry(k) ? varied[k] && wanted[k] : !cotangents_[k].zero();
      if (takes_part && real(body_, body_.outputs[k])) options_.outputs.push_back(k);
    }
  }

  Flags varied_inputs() const {
    Flags inputs;
    for (size_t k = 0; k < body_.inputs.size(); ++k)
      inputs.push_back(active_(stage_.operands[k]) && real(body_, body_.inputs[k]) ? 1 : 0);
    return dependent_inputs(scan_, std::move(inputs));
  }

  // `flags` of the body's tensors becomes: leads to something with a cotangent.
  Flags useful_carries(Flags& flags) const {
    Flags carries(scan_.carries, 0);
    for (size_t k = 0; k < body_.outputs.size(); ++k) {
      if (cotangents_[k].zero() || !real(body_, body_.outputs[k])) continue;
      flags[body_.outputs[k].value] = 1;
      if (is_carry(k)) carries[k] = 1;
    }
    for (bool changed = true; std::exchange(changed, false);) {
      flow_backwards(body_, flags);
      for (size_t k = 0; k < scan_.carries; ++k) {
        if (carries[k] || !flags[body_.inputs[k].value]) continue;
        carries[k] = flags[body_.outputs[k].value] = 1;
        changed = true;
      }
    }
    return carries;
  }

  // The step's forward with the values that its backward keeps, and that backward.
  void cut_step() {
    options_.keep_outputs = true;
    const Graph joint = vjp(body_, options_);
    cut_ = partition(joint, body_.inputs.size(), body_.outputs.size(), -1);
    step_ = std::move(cut_.backward);
  }

  // Residuals that are operands of the step lie outside already; the forward stacks the others:
  // carries as they enter a step, values in between.
  void keep_residuals() {
    outside_.resize(step_.tensors.size());
    Graph& body = cut_.forward;
    const size_t outputs = body_.outputs.size();
    const std::vector<TensorId> residuals(
        body.outputs.begin() + static_cast<std::ptrdiff_t>(outputs), body.outputs.end());
    body.outputs.resize(outputs);
    for (size_t r = 0; r < residuals.size(); ++r)
      outside_[step_.inputs[r].value] = outside_of(body, residuals[r]);
    body.name = body_.name;
    Scan scan = scan_;
    scan.stacked = body.outputs.size() - scan.carries;
    scan.body = std::make_shared<const Graph>(std::move(body));
    graph_.stages[index_].scan = std::make_shared<const Scan>(std::move(scan));
  }

  Outside outside_of(Graph& body, TensorId residual) {
    const auto input = std::ranges::find(body.inputs, residual);
    const size_t k = static_cast<size_t>(input - body.inputs.begin());
    if (input != body.inputs.end() && !is_carry(k)) return {stage_.operands[k], is_scanned(k)};
    std::vector<TensorId>& results = graph_.stages[index_].results;
    for (size_t o = scan_.carries; o < body.outputs.size(); ++o)
      if (body.outputs[o] == residual) return {results[o], true};
    body.outputs.push_back(residual);
    const TensorInfo info = body.info(residual);
    const TensorId saved = add_stacked(info.name + "_saved", info);
    graph_.stages[index_].results.push_back(saved);
    return {saved, true};
  }

  // A tensor outside with one slice of this kind per step.
  TensorId add_stacked(const std::string& name, const TensorInfo& slice) {
    std::vector<int64_t> shape(slice.shape);
    shape.insert(shape.begin(), scan_.trips);
    return add_tensor(graph_, name, slice.dtype, std::move(shape));
  }

  void add_input(std::vector<TensorId>& list, TensorId inside, TensorId outer) {
    list.push_back(inside);
    operands_.emplace_back(inside, outer);
  }

  // Where each input of the step comes from: cotangents of carries are carried, cotangents of
  // stacked results and what was saved per step are scanned, the rest is fixed.
  void place_inputs() {
    const size_t residuals = cut_.residuals;
    for (size_t position = 0; position < options_.outputs.size(); ++position) {
      const size_t k = options_.outputs[position];
      const TensorId inside = step_.inputs[residuals + position];
      const TensorId outer = materialised(graph_, stage_.results[k], cotangents_[k]);
      if (!is_carry(k)) outside_[inside.value] = Outside{outer, true};
      add_input(is_carry(k) ? carried_ : scanned_, inside, outer);
    }
    for (size_t r = 0; r < residuals; ++r) {
      const TensorId inside = step_.inputs[r];
      const Outside& source = *outside_[inside.value];
      add_input(source.sliced ? scanned_ : fixed_, inside, source.tensor);
    }
  }

  // Where each gradient goes: carries' are carried, scanned operands' are stacked; fixed operands'
  // are summed up after the loop where that is cheaper (defer_sums.hpp), else carried as sums.
  void place_gradients() {
    sums_.emplace(step_, graph_, scan_.trips, outside_, stage_.lines);
    std::vector<size_t> fixed;
    for (size_t position = 0; position < options_.wrt.size(); ++position) {
      const size_t k = options_.wrt[position];
      const TensorId gradient = step_.outputs[position];
      if (is_fixed(k)) fixed.push_back(position);
      if (!is_fixed(k)) (is_carry(k) ? next_ : stacked_).push_back(gradient);
      if (!is_fixed(k)) (is_carry(k) ? carry_gradients_ : stacked_gradients_).push_back(k);
    }
    for (TensorId t : stacked_) sums_->stacks(t);
    // The largest first: what is stacked for them serves the smaller ones.
    std::ranges::stable_sort(fixed, std::greater<>(), [&](size_t position) {
      return step_.info(step_.outputs[position]).element_count();
    });
    for (size_t position : fixed) {
      const size_t k = options_.wrt[position];
      const TensorId gradient = step_.outputs[position];
      if (sums_->take(gradient))
        after_.emplace_back(k, gradient);
      else
        carry_sum(k, gradient);
    }
    for (TensorId t : sums_->stacked()) stacked_.push_back(t);
  }

  void carry_sum(size_t k, TensorId gradient) {
    const TensorInfo info = step_.info(gradient);
    const TensorId sum = add_tensor(step_, info.name + "_sum", info.dtype, info.shape);
    add_input(carried_, sum, materialised(graph_, stage_.operands[k], Cotangent{}));
    const DType wide = accumulator_of(info.dtype);
    ExprPool& pool = step_.pool;
    const std::vector<ExprId> point = axes(pool, info.shape.size());
    const ExprId total = pool.add(pool.cast(read(step_, sum, point), wide),
                                  pool.cast(read(step_, gradient, point), wide));
    Domain domain;
    domain.extents = info.shape;
    domain.output_rank = info.shape.size();
    next_.push_back(add_compute(step_, info.name, std::move(domain), Combiner{},
                                {pool.cast(total, info.dtype)}, stage_.lines)[0]);
    carry_gradients_.push_back(k);
  }

  TensorId gradient_tensor(size_t k) {
    const TensorInfo info = graph_.info(stage_.operands[k]);
    return add_tensor(graph_, "d_" + info.name, info.dtype, info.shape);
  }

  void append_reverse(const std::function<void(TensorId, TensorId)>& report) {
    Stage reverse;
    reverse.kind = StageKind::Scan;
    reverse.lines = stage_.lines;
    reverse.region = stage_.region;
    std::vector<TensorId> inputs(carried_);
    inputs.insert(inputs.end(), scanned_.begin(), scanned_.end());
    inputs.insert(inputs.end(), fixed_.begin(), fixed_.end());
    for (TensorId inside : inputs) reverse.operands.push_back(operand_of(inside));
    for (const auto* list : {&carry_gradients_, &stacked_gradients_})
      for (size_t k : *list) reverse.results.push_back(gradient_tensor(k));
    for (size_t k = 0; k < stacked_gradients_.size(); ++k)
      sums_->lies(stacked_[k], reverse.results[carry_gradients_.size() + k]);
    for (TensorId t : sums_->stacked()) {
      reverse.results.push_back(add_stacked(step_.info(t).name + "_stacked", step_.info(t)));
      sums_->lies(t, reverse.results.back());
    }
    reverse.scan = reverse_scan(std::move(inputs));
    const std::vector<TensorId> results = reverse.results;
    if (!results.empty()) graph_.stages.push_back(std::move(reverse));
    report_all(results, report);
  }

  std::shared_ptr<const Scan> reverse_scan(std::vector<TensorId> inputs) const {
    Graph body = step_;
    body.name = "d_" + body_.name;
    body.inputs = std::move(inputs);
    body.outputs = next_;
    body.outputs.insert(body.outputs.end(), stacked_.begin(), stacked_.end());
    Scan scan;
    scan.trips = scan_.trips;
    scan.carries = carried_.size();
    scan.scanned = scanned_.size();
    scan.fixed = fixed_.size();
    scan.stacked = stacked_.size();
    scan.reverse = !scan_.reverse;
    scan.body = std::make_shared<const Graph>(compact(body));
    return std::make_shared<const Scan>(std::move(scan));
  }

  TensorId operand_of(TensorId inside) const {
    return std::ranges::find(operands_, inside, &std::pair<TensorId, TensorId>::first)->second;
  }

  void report_all(const std::vector<TensorId>& results,
                  const std::function<void(TensorId, TensorId)>& report) {
    size_t next = 0;
    for (const auto* list : {&carry_gradients_, &stacked_gradients_})
      for (size_t k : *list) {
        const TensorId gradient = results[next++];
        if (active_(stage_.operands[k])) report(stage_.operands[k], gradient);
      }
    for (const auto& [k, gradient] : after_) report(stage_.operands[k], sums_->sum(gradient));
  }

  Graph& graph_;
  size_t index_;
  const Stage stage_;  // as it was before anything was saved
  const Scan scan_;
  const Graph& body_;
  std::span<const Cotangent> cotangents_;
  const std::function<bool(TensorId)>& active_;
  ReverseOptions options_;
  Partition cut_;
  Graph step_;                                           // becomes the body of the reverse scan
  std::vector<std::optional<Outside>> outside_;          // per tensor of step_
  std::vector<TensorId> carried_, scanned_, fixed_;      // inputs of step_
  std::vector<std::pair<TensorId, TensorId>> operands_;  // an input of step_, its operand outside
  std::vector<TensorId> next_, stacked_;                 // outputs of step_
  std::vector<size_t> carry_gradients_, stacked_gradients_;  // operands of the forward scan
  std::vector<std::pair<size_t, TensorId>> after_;  // a fixed operand, its gradient in the step
  std::optional<SumsOverTime> sums_;
};

}  // namespace

void derive_scan(Graph& graph, size_t stage, std::span<const Cotangent> cotangents,
                 const std::function<bool(TensorId)>& active,
                 const std::function<void(TensorId operand, TensorId gradient)>& report) {
  if (graph.stages[stage].scan->conditional)
    not_differentiable(graph.stages[stage],
                       "the number of steps of a while loop depends on data: reverse mode does not "
                       "know what to keep",
                       "use scan with a fixed number of steps (and select what a step changes), or "
                       "forward mode");
  ReverseScan(graph, stage, cotangents, active)(report);
}

}  // namespace adjit::diff
