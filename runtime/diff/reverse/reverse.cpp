// runtime/diff/reverse/reverse.cpp -- the walk: stages backwards, each access turned round,
// contributions added up.
#include "runtime/diff/reverse/reverse.hpp"

#include <algorithm>

#include "runtime/diff/reverse/calls.hpp"
#include "runtime/diff/reverse/scan_adjoint.hpp"
#include "runtime/diff/reverse/segments.hpp"
#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/diff/rewrite/unconditional_reads.hpp"
#include "runtime/diff/rules/accumulate.hpp"
#include "runtime/diff/rules/dependence.hpp"
#include "runtime/diff/rules/prefix_chain.hpp"
#include "runtime/diff/rules/prefix_winner.hpp"
#include "runtime/diff/rules/reducer_tree.hpp"
#include "runtime/diff/rules/reducers.hpp"
#include "runtime/diff/rules/shared_partials.hpp"
#include "runtime/diff/rules/transpose_access.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/process/cancellation.hpp"

namespace adjit::diff {
namespace {

void check_positions(const Graph& forward, const ReverseOptions& options) {
  for (size_t k : options.wrt) {
    if (k >= forward.inputs.size())
      throw Error(ErrorCode::Invalid, "gradient asked for input " + std::to_string(k) + " of " +
                                          std::to_string(forward.inputs.size()));
    const TensorInfo& input = forward.info(forward.inputs[k]);
    if (!is_float(input.dtype))
      throw Error(ErrorCode::NotDifferentiable,
                  "the gradient with respect to '" + input.name + "' does not exist: it is " +
                      std::string(name_of(input.dtype)) +
                      "; cast it to a float type before the computation, or leave it out");
  }
  for (size_t k : options.outputs) {
    if (k >= forward.outputs.size())
      throw Error(ErrorCode::Invalid, "cotangent given for output " + std::to_string(k) + " of " +
                                          std::to_string(forward.outputs.size()));
    const TensorInfo& output = forward.info(forward.outputs[k]);
    if (!is_float(output.dtype))
      throw Error(ErrorCode::NotDifferentiable,
                  "output '" + output.name + "' is " + std::string(name_of(output.dtype)) +
                      " and takes no cotangent; differentiate a float output");
  }
}

class Reverse {
 public:
  Reverse(const Graph& forward, const std::vector<size_t>& wrt,
          const std::vector<size_t>& reached = {})
      : graph_(forward),
        stage_count_(forward.stages.size()),
        active_(forward.tensors.size(), 0),
        pending_(forward.tensors.size()),
        settled_(forward.tensors.size()) {
    graph_.outputs.clear();
    for (size_t k : wrt) active_[forward.inputs[k].value] = 1;
    reached_ = active_;
    for (size_t k : reached) reached_[forward.inputs[k].value] = 1;
    active_ = differentiably_dependent(graph_, std::move(active_));
    reached_ = differentiably_dependent(graph_, std::move(reached_));
  }

  Graph& graph() { return graph_; }

  /// The cotangent of an output of the forward: a tensor of its shape, or a constant.
  void seed(TensorId output, const Cotangent& cotangent) {
    if (!active_[output.value] || graph_.info(output).element_count() == 0) return;
    Contribution c;
    c.domain.extents = graph_.info(output).shape;
    c.domain.output_rank = c.domain.extents.size();
    c.body = read_cotangent(graph_, cotangent, axes(graph_.pool, c.domain.output_rank));
    c.origin = stage_count_;
    pending_[output.value].push_back(std::move(c));
  }

  void run() {
    for (size_t s = stage_count_; s-- > 0;) {
      check_cancelled();
      std::vector<Cotangent> cotangents;
      bool any = false;
      const std::vector<TensorId> results = graph_.stages[s].results;  // a copy: stages are added
      for (TensorId result : results) {
        cotangents.push_back(settle(result));
        any = any || !cotangents.back().zero();
      }
      const auto call = graph_.stages[s].call;
      const auto scan = graph_.stages[s].scan;
      if (any) derive(s, cotangents);
      // Deriving a stage replaces those forwards of it that the derivative needs.
      if (graph_.stages[s].call == call && graph_.stages[s].scan == scan)
        run_forwards(graph_, s, reached_);
    }
  }

  /// The gradient of an input, after run().
  TensorId gradient_of(TensorId input) { return materialised(graph_, input, settle(input)); }

 private:
  bool active(TensorId tensor) const {
    return tensor.value < active_.size() && active_[tensor.value] != 0;
  }

  std::vector<SourceLine> lines_of(const std::vector<Contribution>& contributions) const {
    constexpr size_t kMostLines = 16;
    std::vector<SourceLine> lines;
    for (const Contribution& c : contributions) {
      if (c.origin >= stage_count_) continue;
      for (const SourceLine& line : graph_.stages[c.origin].lines)
        if (lines.size() < kMostLines && std::ranges::find(lines, line) == lines.end())
          lines.push_back(line);
    }
    return lines;
  }

  // All consumers have been derived: the cotangent of a tensor is the sum of what they sent.
  Cotangent settle(TensorId tensor) {
    if (tensor.value >= pending_.size()) return {};
    std::vector<Contribution>& list = pending_[tensor.value];
    if (list.empty()) return settled_[tensor.value];
    settled_[tensor.value] = accumulate(graph_, tensor, list, lines_of(list));
    list.clear();
    list.shrink_to_fit();
    return settled_[tensor.value];
  }

  void derive(size_t s, const std::vector<Cotangent>& cotangents) {
    const Stage stage = graph_.stages[s];  // a copy: stages are added
    if (stage.kind == StageKind::Scan || stage.kind == StageKind::Call)
      return derive_whole(s, cotangents);
    if (stage.domain.box_points() > 0) derive_points(s, stage, cotangents);
    if (stage.kind == StageKind::Scatter && stage.initial.valid() && active(stage.initial))
      derive_initial(stage, s, cotangents[0]);
  }

  void derive_points(size_t s, const Stage& stage, const std::vector<Cotangent>& cotangents) {
    StageSeeds seeded = seeds_of(s, cotangents);
    std::vector<Access> accesses = sweep(graph_.pool, seeded.seeds, [&](ExprId read) {
      return active(graph_.pool.read_tensor(read));
    });
    share(stage, seeded, accesses);
    Restrictions domain(graph_.pool, seeded.domain);
    for (const Access& access : accesses) {
      const TensorId tensor = graph_.pool.read_tensor(access.read);
      turn_round(graph_, domain, access, s, pending_[tensor.value]);
    }
  }

  // Prefix reductions pass their cotangents on along the axis that they run along.
  StageSeeds seeds_of(size_t s, const std::vector<Cotangent>& cotangents) {
    if (std::optional<StageSeeds> chain = seed_prefix_chain(graph_, s, cotangents))
      return std::move(*chain);
    if (cotangents[0].zero()) return seed_bodies(graph_, s, cotangents);
    const std::optional<PrefixWinner> winner = prefix_winner(graph_, s);
    if (!winner) return seed_bodies(graph_, s, cotangents);
    StageSeeds seeds;
    seeds.domain = shape_box(graph_.info(graph_.stages[s].results[0]).shape);
    const std::vector<ExprId> point = axes(graph_.pool, seeds.domain.output_rank);
    seeds.seeds.push_back(
        {winner->body, read_cotangent(graph_, cotangents[0], point), winner->exists, ExprId{}});
    return seeds;
  }

  void share(const Stage& stage, const StageSeeds& seeded, std::vector<Access>& accesses) {
    if (accesses.size() < 2 || stage.kind != StageKind::Compute ||
        stage.domain.reduction_rank() != 0)
      return;
    std::vector<ExprId> roots(stage.bodies);
    for (const Seed& seed : seeded.seeds) {
      roots.push_back(seed.cotangent);
      if (seed.value.valid()) roots.push_back(seed.value);
    }
    share_partials(graph_, seeded.domain, unconditional_reads(graph_.pool, roots), stage.lines,
                   accesses);
  }

  // A stage whose derivative gives whole gradients of its operands.
  void derive_whole(size_t s, const std::vector<Cotangent>& cotangents) {
    const auto is_active = [&](TensorId t) { return active(t); };
    const auto report = [&](TensorId operand, TensorId gradient) {
      Contribution c;
      c.domain.extents = graph_.info(operand).shape;
      c.domain.output_rank = c.domain.extents.size();
      c.origin = s;
      Cotangent whole;
      whole.tensor = gradient;
      c.body = read_cotangent(graph_, whole, axes(graph_.pool, c.domain.output_rank));
      pending_[operand.value].push_back(std::move(c));
    };
    if (graph_.stages[s].kind == StageKind::Scan)
      derive_scan(graph_, s, cotangents, is_active, report);
    else
      derive_call(graph_, s, cotangents, is_active, report);
  }

  // What a scatter starts from: all of it for a sum, the elements that no point wrote for an
  // assignment.
  void derive_initial(const Stage& stage, size_t s, const Cotangent& cotangent) {
    if (cotangent.zero()) return;
    Contribution c;
    c.domain.extents = graph_.info(stage.initial).shape;
    c.domain.output_rank = c.domain.extents.size();
    c.origin = s;
    const std::vector<ExprId> point = axes(graph_.pool, c.domain.output_rank);
    c.body = read_cotangent(graph_, cotangent, point);
    if (stage.combiner.kind == CombinerKind::None) {
      const ExprId writer = read(graph_, last_writer(graph_, stage), point);
      c.support.domain = shape_box(c.domain.extents);
      c.support.rest = graph_.pool.make(Op::Lt, {writer, graph_.pool.constant_int(0)});
      c.body = guard(graph_.pool, c.support.rest, c.body);
    }
    pending_[stage.initial.value].push_back(std::move(c));
  }

  Graph graph_;
  size_t stage_count_;         // of the forward: stages from here on are the derivative's
  std::vector<char> active_;   // takes a cotangent
  std::vector<char> reached_;  // depends on what this derivative, or one around it, is taken of
  std::vector<std::vector<Contribution>> pending_;
  std::vector<Cotangent> settled_;
};

// What the walk takes: no calls that are no more than their body, custom reductions as trees,
// checkpointed scans in segments.
Graph prepared(const Graph& forward, const ReverseOptions& options, bool clean) {
  const Graph trees = with_reducer_trees(expand_plain_calls(forward), options.wrt, options.outputs);
  Graph source = segment_scans(trees, options.wrt);
  if (clean)
    for (const CleanUpPass& pass : passes_before_derivative()) source = pass.run(std::move(source));
  return source;
}

Graph finished(const Graph& graph, bool clean) {
  Graph whole = expand_plain_calls(graph);
  return clean ? simplify(std::move(whole)) : compact(std::move(whole));
}

// Whether a cotangent is zero may show in the forward as it was written and not in what it was made
// into, whose parts meet elsewhere; what has no derivative takes none that is zero.
template <class Derived>
Graph with_either_forward(bool clean, const Derived& derived) {
  if (!clean) return derived(false);
  try {
    return derived(true);
  } catch (const Error& refused) {
    if (refused.code() != ErrorCode::NotDifferentiable) throw;
    try {
      return derived(false);
    } catch (const Error&) {
      throw refused;
    }
  }
}

}  // namespace

Graph vjp(const Graph& forward, const ReverseOptions& options) {
  check_positions(forward, options);
  const auto derived = [&](bool clean_before) {
    const Graph source = prepared(forward, options, clean_before);
    Reverse reverse(source, options.wrt, options.reached);
    Graph& graph = reverse.graph();
    for (size_t k : options.outputs) {
      const TensorInfo info = graph.info(source.outputs[k]);
      Cotangent cotangent;
      cotangent.tensor = add_input(graph, "d_" + info.name, info.dtype, info.shape);
      reverse.seed(source.outputs[k], cotangent);
    }
    reverse.run();
    if (options.keep_outputs) graph.outputs = source.outputs;
    for (size_t k : options.wrt) graph.outputs.push_back(reverse.gradient_of(source.inputs[k]));
    return finished(graph, options.clean);
  };
  return with_either_forward(options.clean, derived);
}

Graph gradient(const Graph& forward, std::span<const size_t> wrt, size_t output, bool keep_value) {
  ReverseOptions options;
  options.wrt.assign(wrt.begin(), wrt.end());
  options.outputs = {output};
  check_positions(forward, options);
  const TensorInfo& value = forward.info(forward.outputs[output]);
  if (value.element_count() != 1)
    throw Error(ErrorCode::Shape, "gradient needs a scalar, but output '" + value.name + "' has " +
                                      std::to_string(value.element_count()) +
                                      " elements; sum it up, or use vjp with a cotangent");
  const auto derived = [&](bool clean_before) {
    const Graph source = prepared(forward, options, clean_before);
    Reverse reverse(source, options.wrt);
    Graph& graph = reverse.graph();
    Cotangent one;
    one.constant = graph.pool.constant(1, accumulator_of(value.dtype));
    reverse.seed(source.outputs[output], one);
    reverse.run();
    if (keep_value) graph.outputs.push_back(source.outputs[output]);
    for (size_t k : wrt) graph.outputs.push_back(reverse.gradient_of(source.inputs[k]));
    return finished(graph, true);
  };
  return with_either_forward(true, derived);
}

}  // namespace adjit::diff
