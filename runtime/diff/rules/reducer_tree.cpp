// runtime/diff/rules/reducer_tree.cpp -- writing custom reductions as trees.
#include "runtime/diff/rules/reducer_tree.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "runtime/diff/conditions/condition.hpp"
#include "runtime/diff/conditions/guards.hpp"
#include "runtime/diff/conditions/prefix_reduction.hpp"
#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/diff/rules/reducers.hpp"
#include "runtime/graph/affine_constraint.hpp"
#include "runtime/graph/interpret/evaluator.hpp"

namespace adjit::diff {
namespace {

using Tuple = std::vector<Scalar>;

/// Evaluates a combiner on tuples of numbers.
class Combination {
 public:
  Combination(const Graph& graph, const Stage& stage)
      : graph_(graph), stage_(stage), evaluator_(graph, stage.combiner.combine, {}) {}

  Tuple operator()(const Tuple& left, const Tuple& right) {
    Tuple arguments = left;
    arguments.insert(arguments.end(), right.begin(), right.end());
    evaluator_.move_to({}, arguments);
    Tuple result;
    for (size_t k = 0; k < left.size(); ++k) result.push_back(evaluator_.value(k));
    return result;
  }

  /// The k-th of a fixed sequence of tuples: floats in [0.5, 2), integers below 6. Positive, as
  /// counts, weights and variances are.
  Tuple sample(size_t number) const {
    Tuple tuple;
    for (size_t k = 0; k < stage_.bodies.size(); ++k) {
      const double turn =
          std::fmod(0.6180339887498949 * static_cast<double>(7 * number + k + 1), 1);
      const DType dtype = accumulator_of(graph_.pool.dtype(stage_.bodies[k]));
      const int64_t whole = static_cast<int64_t>(turn * (dtype == DType::Bool ? 2 : 6));
      tuple.push_back(is_float(dtype) ? Scalar::of_float(round_to(0.5 + 1.5 * turn, dtype))
                                      : Scalar::of_int(whole));
    }
    return tuple;
  }

  /// Whether component k has one value, up to rounding.
  bool same(const Tuple& a, const Tuple& b, size_t k) const {
    const DType dtype = accumulator_of(graph_.pool.dtype(stage_.bodies[k]));
    if (!is_float(dtype)) return a[k].i == b[k].i;
    if (!std::isfinite(a[k].f) || !std::isfinite(b[k].f)) return true;  // outside of its domain
    const double tolerance = dtype == DType::Float64 ? 1e-9 : 1e-4;
    return std::abs(a[k].f - b[k].f) <=
           tolerance * (1 + std::max(std::abs(a[k].f), std::abs(b[k].f)));
  }

 private:
  const Graph& graph_;
  const Stage& stage_;
  PointEvaluator evaluator_;
};

void check_associative(const Graph& graph, const Stage& stage) {
  constexpr size_t kTriples = 6;
  Combination combine(graph, stage);
  for (size_t t = 0; t < kTriples; ++t) {
    const Tuple a = combine.sample(3 * t), b = combine.sample(3 * t + 1),
                c = combine.sample(3 * t + 2);
    const Tuple left = combine(combine(a, b), c), right = combine(a, combine(b, c));
    for (size_t k = 0; k < a.size(); ++k) {
      if (combine.same(left, right, k)) continue;
      const bool real = is_float(graph.pool.dtype(stage.bodies[k]));
      const auto text = [real](Scalar v) {
        std::ostringstream out;
        real ? out << v.f : out << v.i;
        return out.str();
      };
      not_differentiable(
          stage,
          "the reducer is not associative, and its derivative depends on the order: component " +
              std::to_string(k) + " of combine(combine(a, b), c) is " + text(left[k]) +
              ", of combine(a, combine(b, c)) " + text(right[k]) + " with a = " + text(a[k]) +
              ", b = " + text(b[k]) + ", c = " + text(c[k]),
          "write it with scan, which goes from first to last, or give it a derivative with "
          "custom_vjp");
    }
  }
}

/// Adds the stages of one tree.
class Tree {
 public:
  Tree(Graph& graph, const Stage& stage)
      : graph_(graph),
        pool_(graph.pool),
        stage_(stage),
        name_(graph.info(stage.results[0]).name),
        shape_(stage.domain.extents) {}

  void operator()() {
    const auto reduced = std::span(shape_).subspan(stage_.domain.output_rank);
    if (std::ranges::find(reduced, 0) != reduced.end()) return finish(stage_.combiner.identity);
    elements();
    for (size_t axis = shape_.size(); axis-- > stage_.domain.output_rank;)
      while (shape_[axis] > 1) halve(axis);
    if (!done_) finish(level_at(axes_of_outputs()));
  }

 private:
  /// The output axes, and 0 for each reduction axis.
  std::vector<ExprId> axes_of_outputs() {
    std::vector<ExprId> index = axes(pool_, stage_.domain.output_rank);
    index.resize(shape_.size(), pool_.constant_int(0));
    return index;
  }

  std::vector<ExprId> level_at(const std::vector<ExprId>& index, ExprId predicate = {}) {
    std::vector<ExprId> values;
    for (TensorId tensor : level_) values.push_back(read(graph_, tensor, index, predicate));
    return values;
  }

  void add_level(std::string_view suffix, const std::vector<ExprId>& bodies) {
    level_ = add_compute(graph_, name_ + std::string(suffix), shape_box(shape_), Combiner{}, bodies,
                         stage_.lines);
  }

  // The bodies, in the type that they accumulate in; where the domain has rows, also which points
  // they leave, as a last component: a combiner need not take two identities.
  void elements() {
    std::vector<ExprId> bodies(stage_.bodies);
    const ExprId inside = rows_condition(pool_, stage_.domain);
    partial_ = inside.valid();
    for (size_t k = 0; k < bodies.size(); ++k) {
      bodies[k] = pool_.cast(bodies[k], accumulator_of(pool_.dtype(bodies[k])));
      if (partial_) bodies[k] = pool_.select(inside, bodies[k], stage_.combiner.identity[k]);
    }
    if (partial_) bodies.push_back(inside);
    add_level("_elements", bodies);
  }

  // Combines neighbours along `axis`; the last combination of all gives the stage's results.
  void halve(size_t axis) {
    const int64_t size = shape_[axis];
    shape_[axis] = (size + 1) / 2;
    done_ = std::all_of(shape_.begin() + static_cast<long>(stage_.domain.output_rank), shape_.end(),
                        [](int64_t extent) { return extent == 1; });
    std::vector<ExprId> left = done_ ? axes_of_outputs() : axes(pool_, shape_.size());
    std::vector<ExprId> right = left;
    left[axis] = pool_.mul(left[axis], pool_.constant_int(2));
    right[axis] = pool_.add(left[axis], pool_.constant_int(1));
    ExprId paired;
    if (size % 2 != 0) paired = pool_.make(Op::Lt, {right[axis], pool_.constant_int(size)});
    const std::vector<ExprId> bodies = combined(level_at(left), level_at(right, paired), paired);
    if (done_) return finish(bodies);
    add_level("_level", bodies);
  }

  // combine(left, right) where both take part, else the one that does.
  std::vector<ExprId> combined(const std::vector<ExprId>& left, const std::vector<ExprId>& right,
                               ExprId paired) {
    const size_t n = stage_.bodies.size();
    const ExprId both = partial_ ? pool_.logical_and(left[n], right[n]) : paired;
    Rebuilder rebuild(pool_, pool_, [&](ExprId leaf, std::span<const ExprId>) {
      if (!pool_.is(leaf, Op::Argument)) return ExprId{};
      const size_t number = static_cast<size_t>(pool_[leaf].payload);
      return number < n ? left[number] : right[number - n];
    });
    std::vector<ExprId> bodies;
    for (size_t k = 0; k < n; ++k) {
      const ExprId one = partial_ ? pool_.select(left[n], left[k], right[k]) : left[k];
      const ExprId two = rebuild(stage_.combiner.combine[k]);
      bodies.push_back(both.valid() ? pool_.select(both, two, one) : two);
    }
    if (partial_) bodies.push_back(pool_.make(Op::Or, {left[n], right[n]}));
    return bodies;
  }

  // The stage's results from the last values: the identity where no point takes part.
  void finish(std::vector<ExprId> bodies) {
    const size_t n = stage_.bodies.size();
    for (size_t k = 0; bodies.size() > n && k < n; ++k)
      bodies[k] = pool_.select(bodies[n], bodies[k], stage_.combiner.identity[k]);
    bodies.resize(n);
    for (size_t k = 0; k < n; ++k)
      bodies[k] = pool_.cast(bodies[k], graph_.info(stage_.results[k]).dtype);
    Stage root;
    root.domain = shape_box(graph_.info(stage_.results[0]).shape);
    root.bodies = bodies;
    root.results = stage_.results;
    root.lines = stage_.lines;
    graph_.stages.push_back(std::move(root));
  }

  Graph& graph_;
  ExprPool& pool_;
  const Stage& stage_;
  std::string name_;
  std::vector<int64_t> shape_;  // of the current level: output axes, reduction axes
  std::vector<TensorId> level_;
  bool partial_ = false;  // some points take no part
  bool done_ = false;
};

/// Per stage: whether it depends on an input of `wrt` and an output of `outputs` on it.
std::vector<char> passed_through(const Graph& graph, std::span<const size_t> wrt,
                                 std::span<const size_t> outputs) {
  std::vector<char> active(graph.tensors.size(), 0), needed(graph.tensors.size(), 0);
  std::vector<char> passed(graph.stages.size(), 0);
  for (size_t k : wrt) active[graph.inputs[k].value] = 1;
  for (size_t k : outputs) needed[graph.outputs[k].value] = 1;
  for (size_t s = 0; s < graph.stages.size(); ++s) {
    const Stage& stage = graph.stages[s];
    if (stage.stop_gradient) continue;
    passed[s] = std::ranges::any_of(tensors_read(graph, stage),
                                    [&](TensorId t) { return active[t.value] != 0; });
    for (TensorId result : stage.results)
      active[result.value] = passed[s] && is_float(graph.info(result).dtype);
  }
  for (size_t s = graph.stages.size(); s-- > 0;) {
    const Stage& stage = graph.stages[s];
    const bool wanted = std::ranges::any_of(
        stage.results, [&](TensorId t) { return needed[t.value] != 0 && active[t.value] != 0; });
    passed[s] = passed[s] && wanted;
    if (!passed[s]) continue;
    for (TensorId t : tensors_read(graph, stage)) needed[t.value] = 1;
  }
  return passed;
}

// Prefix reductions have a derivative of their own (prefix_chain.hpp).
bool needs_tree(const Graph& graph, const Stage& stage) {
  return stage.kind == StageKind::Compute && stage.combiner.kind == CombinerKind::Custom &&
         !prefix_reduction(graph.pool, stage);
}

}  // namespace

Graph with_reducer_trees(const Graph& graph, std::span<const size_t> wrt,
                         std::span<const size_t> outputs) {
  if (std::ranges::none_of(graph.stages, [&](const Stage& s) { return needs_tree(graph, s); }))
    return graph;
  const std::vector<char> passed = passed_through(graph, wrt, outputs);
  Graph result = graph;
  result.stages.clear();
  for (size_t s = 0; s < graph.stages.size(); ++s) {
    const Stage& stage = graph.stages[s];
    if (!needs_tree(graph, stage) || !passed[s]) {
      result.stages.push_back(stage);
      continue;
    }
    check_associative(graph, stage);
    Tree(result, stage)();
  }
  return result;
}

}  // namespace adjit::diff
