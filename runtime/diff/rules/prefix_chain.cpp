// runtime/diff/rules/prefix_chain.cpp -- the derivative of prefix reductions in linear time.
#include "runtime/diff/rules/prefix_chain.hpp"

#include <unordered_map>

#include "runtime/diff/conditions/prefix_reduction.hpp"
#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/diff/rules/tangents.hpp"

namespace adjit::diff {
namespace {

std::vector<ExprId> with_arguments(ExprPool& pool, std::span<const ExprId> roots,
                                   std::span<const ExprId> values) {
  Rebuilder rebuild(pool, pool, [&](ExprId leaf, std::span<const ExprId>) {
    if (!pool.is(leaf, Op::Argument)) return ExprId{};
    return pool.cast(values[static_cast<size_t>(pool[leaf].payload)], pool.dtype(leaf));
  });
  std::vector<ExprId> results;
  for (ExprId root : roots) results.push_back(root.valid() ? rebuild(root) : root);
  return results;
}

// Links are numbered along the axis that the stage runs along. Stages of the chain have time, the
// link's number, as their first axis, the stage's other output axes behind it.
class ReverseChain {
 public:
  ReverseChain(Graph& graph, size_t stage, const Running& running,
               std::span<const Cotangent> cotangents)
      : graph_(graph),
        pool_(graph.pool),
        stage_(graph.stages[stage]),
        running_(running),
        combiner_(as_custom(pool_, stage_)),
        cotangents_(cotangents),
        name_(graph.info(stage_.results[0]).name) {
    shape_.push_back(stage_.domain.extents[running.axis]);
    for (size_t a = 0; a < stage_.domain.output_rank; ++a)
      if (a != running.axis) shape_.push_back(stage_.domain.extents[a]);
  }

  StageSeeds operator()() {
    differentiate_links();
    choose_carries();
    StageSeeds result;
    result.domain = shape_box(graph_.info(stage_.results[0]).shape);
    if (carries_.empty()) return result;
    const std::vector<TensorId> reached = append_scan();
    const std::vector<ExprId> along = output_axes();
    std::vector<ExprId> now = axes(pool_, stage_.domain.output_rank);
    now.push_back(pool_.axis(running_.axis));
    for (size_t k = 0; k < count(); ++k) {
      std::vector<ExprId> terms;
      for (size_t m = 0; m < carries_.size(); ++m)
        if (const ExprId weight = to_body_[carries_[m]][k]; weight.valid())
          terms.push_back(pool_.mul(substitute_axes(pool_, weight, time_first()),
                                    read(graph_, reached[m], time_first())));
      if (terms.empty()) continue;
      result.seeds.push_back({substitute_axes(pool_, stage_.bodies[k], now),
                              balanced_sum(pool_, terms), ExprId{}, ExprId{}});
    }
    return result;
  }

 private:
  size_t count() const { return stage_.bodies.size(); }
  DType wide(size_t k) const { return accumulator_of(pool_.dtype(stage_.bodies[k])); }
  bool real(size_t k) const { return is_float(wide(k)); }
  const std::vector<int64_t>& shape() const { return shape_; }
  std::vector<int64_t> slice_shape() const { return {shape_.begin() + 1, shape_.end()}; }

  // The stage's output axes in those of the chain, and the other way round.
  std::vector<ExprId> output_axes() {
    std::vector<ExprId> result;
    for (size_t a = 0; a < stage_.domain.output_rank; ++a)
      result.push_back(pool_.axis(a == running_.axis ? 0 : a < running_.axis ? a + 1 : a));
    return result;
  }
  std::vector<ExprId> time_first() {
    std::vector<ExprId> result{pool_.axis(running_.axis)};
    for (size_t a = 0; a < stage_.domain.output_rank; ++a)
      if (a != running_.axis) result.push_back(pool_.axis(a));
    return result;
  }

  // The point `links` further on in the chain (back where negative), and whether there is one.
  struct Neighbour {
    std::vector<ExprId> point;
    ExprId exists;
  };
  Neighbour neighbour(int64_t links) {
    const int64_t distance = running_.reverse ? -links : links;
    Neighbour other{output_axes(), {}};
    const ExprId time = pool_.axis(0);
    other.point[running_.axis] = pool_.add(time, pool_.constant_int(distance));
    other.exists = distance < 0 ? pool_.make(Op::Lt, {pool_.constant_int(0), time})
                                : pool_.make(Op::Lt, {time, pool_.constant_int(shape_[0] - 1)});
    return other;
  }

  // s(t-1): what the chain has combined before its link t.
  ExprId before(size_t k) {
    if (running_.exclusive)
      return pool_.cast(read(graph_, stage_.results[k], output_axes()), wide(k));
    const Neighbour previous = neighbour(-1);
    const ExprId value = read(graph_, stage_.results[k], previous.point, previous.exists);
    return pool_.select(previous.exists, pool_.cast(value, wide(k)),
                        pool_.cast(combiner_.identity[k], wide(k)));
  }

  // dC/ds and dC/db of every component by every component, at each link.
  void differentiate_links() {
    const size_t n = count();
    std::vector<ExprId> now = output_axes();
    now.push_back(pool_.axis(0));
    std::vector<ExprId> earlier, own;
    for (size_t k = 0; k < n; ++k) {
      earlier.push_back(before(k));
      own.push_back(pool_.cast(substitute_axes(pool_, stage_.bodies[k], now), wide(k)));
    }
    // The smaller index stands left, whichever end the chain begins at.
    std::vector<ExprId> values = running_.reverse ? own : earlier;
    const std::vector<ExprId>& right = running_.reverse ? earlier : own;
    values.insert(values.end(), right.begin(), right.end());
    to_state_.assign(n, std::vector<ExprId>(n));
    to_body_.assign(n, std::vector<ExprId>(n));
    for (size_t number = 0; number < 2 * n; ++number) {
      if (!real(number % n)) continue;
      const auto leaf = [&](ExprId argument) {
        return pool_[argument].payload == number ? pool_.constant(1, pool_.dtype(argument))
                                                 : ExprId{};
      };
      const std::vector<ExprId> partial =
          with_arguments(pool_, tangents(pool_, combiner_.combine, leaf), values);
      auto& to = (number < n) != running_.reverse ? to_state_ : to_body_;
      for (size_t k = 0; k < n; ++k) to[k][number % n] = partial[k];
    }
  }

  // The components of s that a cotangent reaches.
  void choose_carries() {
    std::vector<char> live(count(), 0);
    for (size_t k = 0; k < count(); ++k) live[k] = real(k) && !cotangents_[k].zero();
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t j = 0; j < count(); ++j)
        for (size_t k = 0; k < count(); ++k)
          if (live[j] && !live[k] && to_state_[j][k].valid()) live[k] = changed = true;
    }
    for (size_t k = 0; k < count(); ++k)
      if (live[k]) carries_.push_back(k);
  }

  // G(t): what the stage's own readers send to s(t); invalid: nothing.
  ExprId sent(size_t k) {
    if (cotangents_[k].zero()) return {};
    if (!running_.exclusive) return read_cotangent(graph_, cotangents_[k], output_axes());
    const Neighbour next = neighbour(1);
    return read_cotangent(graph_, cotangents_[k], next.point, next.exists);
  }

  TensorId over_time(const std::string& suffix, ExprId body) {
    return add_compute(graph_, name_ + suffix, shape_box(shape()), Combiner{}, {body},
                       stage_.lines)[0];
  }

  // An input of the step that holds the slices of a body over all links.
  ExprId sliced(Graph& step, Stage& loop, const std::string& suffix, ExprId body) {
    loop.operands.push_back(over_time(suffix, body));
    const TensorId slice = add_input(step, name_ + suffix, pool_.dtype(body), slice_shape());
    return read(step, slice, axes(step.pool, shape_.size() - 1));
  }

  // The scan from the last link to the first; R(t) of each carry, over all links.
  std::vector<TensorId> append_scan() {
    Graph step;
    step.name = "links";
    Stage loop;
    loop.kind = StageKind::Scan;
    loop.lines = stage_.lines;
    std::vector<ExprId> carried;
    for (size_t k : carries_) {
      loop.operands.push_back(add_compute(graph_, name_ + "_end", shape_box(slice_shape()),
                                          Combiner{}, {pool_.constant(0, wide(k))},
                                          stage_.lines)[0]);
      const TensorId carry = add_input(step, name_ + "_passed", wide(k), slice_shape());
      carried.push_back(read(step, carry, axes(step.pool, shape_.size() - 1)));
    }
    std::vector<ExprId> reached;  // R(t)
    for (size_t m = 0; m < carries_.size(); ++m) {
      const ExprId own = sent(carries_[m]);
      reached.push_back(own.valid() ? step.pool.add(sliced(step, loop, "_sent", own), carried[m])
                                    : carried[m]);
    }
    std::vector<TensorId> outputs;
    for (size_t k : carries_) {
      std::vector<ExprId> terms;
      for (size_t m = 0; m < carries_.size(); ++m)
        if (const ExprId weight = to_state_[carries_[m]][k]; weight.valid())
          terms.push_back(step.pool.mul(sliced(step, loop, "_link", weight), reached[m]));
      outputs.push_back(
          in_step(step, "_passed",
                  terms.empty() ? step.pool.constant(0, wide(k)) : balanced_sum(step.pool, terms)));
    }
    for (size_t m = 0; m < carries_.size(); ++m)
      outputs.push_back(in_step(step, "_reached", reached[m]));
    step.outputs = outputs;
    return finish(std::move(step), std::move(loop));
  }

  TensorId in_step(Graph& step, const std::string& suffix, ExprId body) {
    return add_compute(step, name_ + suffix, shape_box(slice_shape()), Combiner{}, {body},
                       stage_.lines)[0];
  }

  std::vector<TensorId> finish(Graph step, Stage loop) {
    Scan scan;
    scan.trips = shape_[0];
    scan.carries = scan.stacked = carries_.size();
    scan.scanned = loop.operands.size() - scan.carries;
    scan.reverse = !running_.reverse;
    scan.body = std::make_shared<const Graph>(std::move(step));
    loop.scan = std::make_shared<const Scan>(std::move(scan));
    std::vector<TensorId> reached;
    for (size_t k : carries_)
      loop.results.push_back(add_tensor(graph_, name_ + "_first", wide(k), slice_shape()));
    for (size_t k : carries_) {
      reached.push_back(add_tensor(graph_, name_ + "_reached", wide(k), shape()));
      loop.results.push_back(reached.back());
    }
    graph_.stages.push_back(std::move(loop));
    return reached;
  }

  Graph& graph_;
  ExprPool& pool_;
  const Stage stage_;  // a copy: stages are added while it is read
  const Running running_;
  const Combiner combiner_;
  std::span<const Cotangent> cotangents_;
  std::string name_;
  std::vector<int64_t> shape_;                           // time first
  std::vector<std::vector<ExprId>> to_state_, to_body_;  // [component of C][component it is by]
  std::vector<size_t> carries_;
};

}  // namespace

bool is_prefix_chain(const Graph& graph, const Stage& stage) {
  return (stage.combiner.kind == CombinerKind::Product ||
          stage.combiner.kind == CombinerKind::Custom) &&
         prefix_reduction(graph.pool, stage).has_value();
}

Combiner as_custom(ExprPool& pool, const Stage& stage) {
  if (stage.combiner.kind == CombinerKind::Custom) return stage.combiner;
  Combiner combiner;
  combiner.kind = CombinerKind::Custom;
  const size_t n = stage.bodies.size();
  for (size_t k = 0; k < n; ++k) {
    const DType wide = accumulator_of(pool.dtype(stage.bodies[k]));
    combiner.combine.push_back(pool.mul(pool.argument(k, wide), pool.argument(n + k, wide)));
    combiner.identity.push_back(pool.constant(1, wide));
  }
  return combiner;
}

std::optional<StageSeeds> seed_prefix_chain(Graph& graph, size_t stage,
                                            std::span<const Cotangent> cotangents) {
  if (!is_prefix_chain(graph, graph.stages[stage])) return std::nullopt;
  const Running running = *prefix_reduction(graph.pool, graph.stages[stage]);
  return ReverseChain(graph, stage, running, cotangents)();
}

}  // namespace adjit::diff
