// runtime/diff/forward/forward.cpp -- the walk: each stage, then the stage of its tangent.
#include "runtime/diff/forward/forward.hpp"

#include <algorithm>
#include <unordered_map>

#include "runtime/diff/forward/call.hpp"
#include "runtime/diff/forward/reducer.hpp"
#include "runtime/diff/forward/scan.hpp"
#include "runtime/diff/forward/scatter.hpp"
#include "runtime/diff/reverse/calls.hpp"
#include "runtime/diff/rewrite/factors.hpp"
#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/diff/rules/prefix_chain.hpp"
#include "runtime/diff/rules/prefix_winner.hpp"
#include "runtime/diff/rules/reducers.hpp"
#include "runtime/diff/rules/tangents.hpp"
#include "runtime/diff/simplify/simplify.hpp"

namespace adjit::diff {
namespace {

void check_positions(const Graph& forward, const std::vector<size_t>& wrt) {
  std::vector<char> seen(forward.inputs.size(), 0);
  for (size_t k : wrt) {
    if (k >= forward.inputs.size())
      throw Error(ErrorCode::Invalid, "jvp: a tangent is given for input " + std::to_string(k) +
                                          " of " + std::to_string(forward.inputs.size()));
    const TensorInfo& input = forward.info(forward.inputs[k]);
    if (seen[k]++)
      throw Error(ErrorCode::Invalid,
                  "jvp: two tangents are given for input '" + input.name + "'; add them up");
    if (!is_float(input.dtype))
      throw Error(ErrorCode::NotDifferentiable,
                  "jvp: input '" + input.name + "' is " + std::string(name_of(input.dtype)) +
                      " and has no tangent; cast it to a float type before the computation, or "
                      "leave it out");
  }
}

class ForwardMode {
 public:
  ForwardMode(const Graph& forward, bool clean) : graph_(forward), clean_(clean) {
    stages_ = std::move(graph_.stages);
    graph_.stages.clear();
    graph_.outputs.clear();
  }

  Graph& graph() { return graph_; }

  void add_input_tangent(TensorId input) {
    const TensorInfo info = graph_.info(input);
    map_.set(input, add_input(graph_, "t_" + info.name, info.dtype, info.shape));
  }

  void run() {
    for (Stage& stage : stages_) {
      const size_t index = graph_.stages.size();
      const uint32_t region = stage.region;
      graph_.stages.push_back(std::move(stage));
      push(index);
      for (size_t s = index; s < graph_.stages.size(); ++s) graph_.stages[s].region = region;
    }
  }

  TensorId tangent_of_output(TensorId output) { return tangent_or_zeros(graph_, map_, output); }

 private:
  void push(size_t index) {
    const Stage& stage = graph_.stages[index];
    if (stage.stop_gradient) return;
    const std::vector<TensorId> reads = tensors_read(graph_, stage);
    if (std::ranges::none_of(reads, [&](TensorId t) { return map_.of(t).valid(); })) return;
    switch (stage.kind) {
      case StageKind::Compute:
        if (is_prefix_chain(graph_, stage))
          graph_.stages[index].combiner = as_custom(graph_.pool, stage);
        return stage.combiner.kind == CombinerKind::Custom ? push_custom(graph_, map_, index)
                                                           : push_compute(index);
      case StageKind::Scatter: return push_scatter(graph_, map_, index);
      case StageKind::Scan: return push_scan(graph_, map_, index, clean_);
      case StageKind::Call: return push_call(graph_, map_, index, clean_);
    }
  }

  ExprId leaf_tangent(ExprId read) { return tangent_of_read(graph_, map_, read); }

  // The tangents of a stage's bodies. An elementwise stage has stored the values of its bodies.
  std::vector<ExprId> body_tangents(const Stage& stage) {
    std::unordered_map<uint32_t, ExprId> value_of;
    const std::vector<ExprId> point = axes(graph_.pool, stage.domain.output_rank);
    if (stage.combiner.kind == CombinerKind::None)
      for (size_t k = 0; k < stage.bodies.size(); ++k)
        value_of[stage.bodies[k].value] = read(graph_, stage.results[k], point);
    return tangents(
        graph_.pool, stage.bodies, [&](ExprId read) { return leaf_tangent(read); }, value_of);
  }

  // A weighted sum over the points of the stage; without reduction, the weighted tangent itself.
  void push_compute(size_t index) {
    const Stage stage = graph_.stages[index];  // a copy: stages are added
    if (push_contraction(stage) || push_winner(index)) return;
    const std::vector<ExprId> derived = body_tangents(stage);
    std::vector<size_t> live;
    std::vector<Cotangent> ones(stage.results.size());
    for (size_t k = 0; k < stage.results.size(); ++k) {
      if (!derived[k].valid()) continue;
      live.push_back(k);
      ones[k].constant = graph_.pool.constant(1, graph_.pool.dtype(derived[k]));
    }
    if (live.empty()) return;
    const StageSeeds weights = seed_bodies(graph_, index, ones);
    invariant(weights.seeds.size() == live.size(), "one weight for each tangent");
    std::vector<ExprId> bodies;
    for (size_t n = 0; n < live.size(); ++n) {
      const Seed& seed = weights.seeds[n];
      const ExprId weighted = graph_.pool.mul(seed.cotangent, derived[live[n]]);
      bodies.push_back(guard(graph_.pool, seed.condition, weighted));
    }
    add_tangents(stage, weights.domain, live, bodies);
  }

  // The tangent of a running max or min is that of the point which holds it.
  bool push_winner(size_t index) {
    const std::optional<PrefixWinner> winner = prefix_winner(graph_, index);
    if (!winner) return false;
    const Stage stage = graph_.stages[index];  // as it keeps the winners
    const ExprId derived = tangents(graph_.pool, std::span(&winner->body, 1),
                                    [&](ExprId read) { return leaf_tangent(read); })[0];
    if (!derived.valid()) return true;
    const DType dtype = graph_.info(stage.results[0]).dtype;
    const ExprId tangent = guard(graph_.pool, winner->exists, graph_.pool.cast(derived, dtype));
    map_.set(stage.results[0], add_compute(graph_, "t_" + graph_.info(stage.results[0]).name,
                                           shape_box(graph_.info(stage.results[0]).shape),
                                           Combiner{}, {tangent}, stage.lines)[0]);
    return true;
  }

  void add_tangents(const Stage& stage, const Domain& domain, const std::vector<size_t>& live,
                    const std::vector<ExprId>& bodies) {
    Stage tangent;
    tangent.domain = domain;
    const bool reduces = stage.combiner.kind != CombinerKind::None;
    tangent.combiner.kind = reduces ? CombinerKind::Sum : CombinerKind::None;
    tangent.lines = stage.lines;
    for (size_t n = 0; n < live.size(); ++n) {
      const DType dtype = graph_.info(stage.results[live[n]]).dtype;
      tangent.bodies.push_back(graph_.pool.cast(bodies[n], dtype));
      tangent.results.push_back(add_tangent(graph_, map_, stage.results[live[n]]));
    }
    graph_.stages.push_back(std::move(tangent));
  }

  // sum A * B becomes sum t_A * B, plus sum A * t_B: each is a contraction of its own, which one
  // sum over both products is not. Only where the body is a product of a few reads, so that no
  // work is repeated.
  bool push_contraction(const Stage& stage) {
    if (stage.combiner.kind != CombinerKind::Sum || stage.domain.reduction_rank() == 0)
      return false;
    const std::vector<ExprId> reads = active_factors(stage.bodies[0]);
    if (reads.size() < 2) return false;
    const TensorInfo info = graph_.info(stage.results[0]);
    const DType wide = accumulator_of(info.dtype);
    const std::vector<ExprId> point = axes(graph_.pool, stage.domain.output_rank);
    std::vector<ExprId> terms;
    for (ExprId factor : reads) {
      const ExprId body = tangents(graph_.pool, stage.bodies, [&](ExprId read) {
        return read == factor ? leaf_tangent(read) : ExprId{};
      })[0];
      const TensorId term =
          add_compute(graph_, "t_" + info.name + "_term", stage.domain, stage.combiner,
                      {graph_.pool.cast(body, wide)}, stage.lines)[0];
      terms.push_back(read(graph_, term, point));
    }
    Domain box;
    box.extents = info.shape;
    box.output_rank = info.shape.size();
    const ExprId total = graph_.pool.cast(balanced_sum(graph_.pool, terms), info.dtype);
    map_.set(stage.results[0],
             add_compute(graph_, "t_" + info.name, box, Combiner{}, {total}, stage.lines)[0]);
    return true;
  }

  // The distinct reads with a tangent of a body that is a product of reads and constants; none
  // when it is anything else.
  std::vector<ExprId> active_factors(ExprId body) {
    constexpr size_t kMostFactors = 4;
    const Product product = factors_of(graph_.pool, body);
    if (product.factors.size() > kMostFactors) return {};
    std::vector<ExprId> active;
    for (const Factor& factor : product.factors) {
      ExprId expr = factor.expr;
      while (graph_.pool.is(expr, Op::Cast)) expr = graph_.pool.operand(expr, 0);
      if (graph_.pool.is(expr, Op::Constant) && !factor.inverse) continue;
      if (!graph_.pool.is(expr, Op::Read) || factor.inverse) return {};
      const bool moves = map_.of(graph_.pool.read_tensor(expr)).valid();
      if (moves && std::ranges::find(active, expr) == active.end()) active.push_back(expr);
    }
    return active;
  }

  Graph graph_;
  bool clean_;
  std::vector<Stage> stages_;  // of the forward
  TangentMap map_;
};

}  // namespace

Graph jvp(const Graph& forward, const ForwardOptions& options) {
  check_positions(forward, options.wrt);
  const Graph whole = expand_plain_calls(forward);
  const Graph source =
      options.clean ? stop_at_invariant_shifts(with_whole_sums(inline_views(whole))) : whole;
  ForwardMode mode(source, options.clean);
  Graph& graph = mode.graph();
  for (size_t k : options.wrt) mode.add_input_tangent(source.inputs[k]);
  mode.run();
  if (options.keep_outputs) graph.outputs = source.outputs;
  for (TensorId output : source.outputs)
    if (is_float(graph.info(output).dtype)) graph.outputs.push_back(mode.tangent_of_output(output));
  return options.clean ? simplify(std::move(graph)) : compact(std::move(graph));
}

}  // namespace adjit::diff
