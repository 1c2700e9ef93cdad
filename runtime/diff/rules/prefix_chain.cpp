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

// A prefix reduction as a chain. Links are numbered along the axis that the stage runs along.
// Stages of the chain have time, the link's number, as their first axis, the stage's other output
// axes behind it.
struct Chain {
  Graph& graph;
  ExprPool& pool;
  const Stage stage;  // a copy: stages are added while it is read
  const Running running;
  const Combiner combiner;
  const std::string name;
  const std::vector<int64_t> shape;  // time first

  size_t count() const { return stage.bodies.size(); }
  DType wide(size_t k) const { return accumulator_of(pool.dtype(stage.bodies[k])); }
  bool real(size_t k) const { return is_float(wide(k)); }
  std::vector<int64_t> slice_shape() const { return {shape.begin() + 1, shape.end()}; }

  // The stage's output axes in those of the chain, and the other way round.
  std::vector<ExprId> output_axes() const {
    std::vector<ExprId> result;
    for (size_t a = 0; a < stage.domain.output_rank; ++a)
      result.push_back(pool.axis(a == running.axis ? 0 : a < running.axis ? a + 1 : a));
    return result;
  }
  std::vector<ExprId> time_first() const {
    std::vector<ExprId> result{pool.axis(running.axis)};
    for (size_t a = 0; a < stage.domain.output_rank; ++a)
      if (a != running.axis) result.push_back(pool.axis(a));
    return result;
  }
};

Chain chain_of(Graph& graph, size_t number, const Running& running) {
  const Stage& stage = graph.stages[number];
  std::vector<int64_t> shape{stage.domain.extents[running.axis]};
  for (size_t a = 0; a < stage.domain.output_rank; ++a)
    if (a != running.axis) shape.push_back(stage.domain.extents[a]);
  return {graph,
          graph.pool,
          stage,
          running,
          as_custom(graph.pool, stage),
          graph.info(stage.results[0]).name,
          std::move(shape)};
}

// The point `links` further on in the chain (back where negative), and whether there is one.
struct Neighbour {
  std::vector<ExprId> point;
  ExprId exists;
};

Neighbour neighbour(const Chain& chain, int64_t links) {
  ExprPool& pool = chain.pool;
  const int64_t distance = chain.running.reverse ? -links : links;
  Neighbour other{chain.output_axes(), {}};
  const ExprId time = pool.axis(0);
  other.point[chain.running.axis] = pool.add(time, pool.constant_int(distance));
  other.exists = distance < 0 ? pool.make(Op::Lt, {pool.constant_int(0), time})
                              : pool.make(Op::Lt, {time, pool.constant_int(chain.shape[0] - 1)});
  return other;
}

// s(t-1): what the chain has combined before its link t.
ExprId before(const Chain& chain, size_t k) {
  ExprPool& pool = chain.pool;
  const TensorId state = chain.stage.results[k];
  if (chain.running.exclusive)
    return pool.cast(read(chain.graph, state, chain.output_axes()), chain.wide(k));
  const Neighbour previous = neighbour(chain, -1);
  const ExprId value = read(chain.graph, state, previous.point, previous.exists);
  return pool.select(previous.exists, pool.cast(value, chain.wide(k)),
                     pool.cast(chain.combiner.identity[k], chain.wide(k)));
}

// At each link: dC/ds and dC/db, [component of C][component it is by]. Invalid: zero.
struct LinkPartials {
  std::vector<std::vector<ExprId>> to_state, to_body;
};

LinkPartials differentiate_links(const Chain& chain) {
  ExprPool& pool = chain.pool;
  const size_t n = chain.count();
  const bool reverse = chain.running.reverse;
  std::vector<ExprId> now = chain.output_axes();
  now.push_back(pool.axis(0));
  std::vector<ExprId> earlier, own;
  for (size_t k = 0; k < n; ++k) {
    earlier.push_back(before(chain, k));
    own.push_back(pool.cast(substitute_axes(pool, chain.stage.bodies[k], now), chain.wide(k)));
  }
  // The smaller index stands left, whichever end the chain begins at.
  std::vector<ExprId> values = reverse ? own : earlier;
  const std::vector<ExprId>& right = reverse ? earlier : own;
  values.insert(values.end(), right.begin(), right.end());
  const std::vector<std::vector<ExprId>> zeros(n, std::vector<ExprId>(n));
  LinkPartials partials{zeros, zeros};
  for (size_t number = 0; number < 2 * n; ++number) {
    if (!chain.real(number % n)) continue;
    const auto leaf = [&](ExprId argument) {
      return pool[argument].payload == number ? pool.constant(1, pool.dtype(argument)) : ExprId{};
    };
    const std::vector<ExprId> partial =
        with_arguments(pool, tangents(pool, chain.combiner.combine, leaf), values);
    auto& to = (number < n) != reverse ? partials.to_state : partials.to_body;
    for (size_t k = 0; k < n; ++k) to[k][number % n] = partial[k];
  }
  return partials;
}

// The components of s that a cotangent reaches.
std::vector<size_t> carries_of(const Chain& chain, const LinkPartials& partials,
                               std::span<const Cotangent> cotangents) {
  const size_t n = chain.count();
  std::vector<char> live(n, 0);
  for (size_t k = 0; k < n; ++k) live[k] = chain.real(k) && !cotangents[k].zero();
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t j = 0; j < n; ++j)
      for (size_t k = 0; k < n; ++k)
        if (live[j] && !live[k] && partials.to_state[j][k].valid()) live[k] = changed = true;
  }
  std::vector<size_t> carries;
  for (size_t k = 0; k < n; ++k)
    if (live[k]) carries.push_back(k);
  return carries;
}

// G(t): what the stage's own readers send to s(t); invalid: nothing.
ExprId sent(const Chain& chain, const Cotangent& cotangent) {
  if (cotangent.zero()) return {};
  if (!chain.running.exclusive) return read_cotangent(chain.graph, cotangent, chain.output_axes());
  const Neighbour next = neighbour(chain, 1);
  return read_cotangent(chain.graph, cotangent, next.point, next.exists);
}

// An input of the loop's step that holds the slices of a body over all links.
ExprId sliced(const Chain& chain, Graph& step, Stage& loop, const std::string& suffix,
              ExprId body) {
  const std::string name = chain.name + suffix;
  loop.operands.push_back(add_compute(chain.graph, name, shape_box(chain.shape), Combiner{}, {body},
                                      chain.stage.lines)[0]);
  const TensorId slice = add_input(step, name, chain.pool.dtype(body), chain.slice_shape());
  return read(step, slice, axes(step.pool, chain.shape.size() - 1));
}

TensorId in_step(const Chain& chain, Graph& step, const std::string& suffix, ExprId body) {
  return add_compute(step, chain.name + suffix, shape_box(chain.slice_shape()), Combiner{}, {body},
                     chain.stage.lines)[0];
}

// Appends the loop, whose operands stand in it; R(t) of each carry, over all links.
std::vector<TensorId> append_loop(const Chain& chain, const std::vector<size_t>& carries,
                                  Graph step, Stage loop) {
  Scan scan;
  scan.trips = chain.shape[0];
  scan.carries = scan.stacked = carries.size();
  scan.scanned = loop.operands.size() - scan.carries;
  scan.reverse = !chain.running.reverse;
  scan.body = std::make_shared<const Graph>(std::move(step));
  loop.scan = std::make_shared<const Scan>(std::move(scan));
  std::vector<TensorId> reached;
  for (size_t k : carries)
    loop.results.push_back(
        add_tensor(chain.graph, chain.name + "_first", chain.wide(k), chain.slice_shape()));
  for (size_t k : carries) {
    reached.push_back(add_tensor(chain.graph, chain.name + "_reached", chain.wide(k), chain.shape));
    loop.results.push_back(reached.back());
  }
  chain.graph.stages.push_back(std::move(loop));
  return reached;
}

// The scan from the last link to the first; R(t) of each carry, over all links.
std::vector<TensorId> append_scan(const Chain& chain, const LinkPartials& partials,
                                  const std::vector<size_t>& carries,
                                  std::span<const Cotangent> cotangents) {
  Graph step;
  step.name = "links";
  Stage loop;
  loop.kind = StageKind::Scan;
  loop.lines = chain.stage.lines;
  std::vector<ExprId> carried;
  for (size_t k : carries) {
    loop.operands.push_back(
        add_compute(chain.graph, chain.name + "_end", shape_box(chain.slice_shape()), Combiner{},
                    {chain.pool.constant(0, chain.wide(k))}, chain.stage.lines)[0]);
    const TensorId carry =
        add_input(step, chain.name + "_passed", chain.wide(k), chain.slice_shape());
    carried.push_back(read(step, carry, axes(step.pool, chain.shape.size() - 1)));
  }
  std::vector<ExprId> reached;  // R(t)
  for (size_t m = 0; m < carries.size(); ++m) {
    const ExprId own = sent(chain, cotangents[carries[m]]);
    reached.push_back(own.valid()
                          ? step.pool.add(sliced(chain, step, loop, "_sent", own), carried[m])
                          : carried[m]);
  }
  for (size_t k : carries) {
    std::vector<ExprId> terms;
    for (size_t m = 0; m < carries.size(); ++m)
      if (const ExprId weight = partials.to_state[carries[m]][k]; weight.valid())
        terms.push_back(step.pool.mul(sliced(chain, step, loop, "_link", weight), reached[m]));
    step.outputs.push_back(in_step(
        chain, step, "_passed",
        terms.empty() ? step.pool.constant(0, chain.wide(k)) : balanced_sum(step.pool, terms)));
  }
  for (size_t m = 0; m < carries.size(); ++m)
    step.outputs.push_back(in_step(chain, step, "_reached", reached[m]));
  return append_loop(chain, carries, std::move(step), std::move(loop));
}

// Each body gets dC/db R(t), over the stage's output axes.
std::vector<Seed> seeds_of_bodies(const Chain& chain, const LinkPartials& partials,
                                  const std::vector<size_t>& carries,
                                  const std::vector<TensorId>& reached) {
  ExprPool& pool = chain.pool;
  std::vector<ExprId> now = axes(pool, chain.stage.domain.output_rank);
  now.push_back(pool.axis(chain.running.axis));
  std::vector<Seed> seeds;
  for (size_t k = 0; k < chain.count(); ++k) {
    std::vector<ExprId> terms;
    for (size_t m = 0; m < carries.size(); ++m)
      if (const ExprId weight = partials.to_body[carries[m]][k]; weight.valid())
        terms.push_back(pool.mul(substitute_axes(pool, weight, chain.time_first()),
                                 read(chain.graph, reached[m], chain.time_first())));
    if (terms.empty()) continue;
    seeds.push_back({substitute_axes(pool, chain.stage.bodies[k], now), balanced_sum(pool, terms),
                     ExprId{}, ExprId{}});
  }
  return seeds;
}

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
  const Chain chain = chain_of(graph, stage, *prefix_reduction(graph.pool, graph.stages[stage]));
  const LinkPartials partials = differentiate_links(chain);
  const std::vector<size_t> carries = carries_of(chain, partials, cotangents);
  StageSeeds result;
  result.domain = shape_box(graph.info(chain.stage.results[0]).shape);
  if (carries.empty()) return result;
  const std::vector<TensorId> reached = append_scan(chain, partials, carries, cotangents);
  result.seeds = seeds_of_bodies(chain, partials, carries, reached);
  return result;
}

}  // namespace adjit::diff
