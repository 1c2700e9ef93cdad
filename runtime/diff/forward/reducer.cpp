// runtime/diff/forward/reducer.cpp -- dual numbers under a custom combiner.
#include "runtime/diff/forward/reducer.hpp"

#include <algorithm>

#include "runtime/diff/rules/tangents.hpp"

namespace adjit::diff {
namespace {

// The float components: those that get a tangent. Component `floats[m]` of n has its tangent in
// component n + m.
std::vector<size_t> float_components(const Graph& graph, const Stage& stage) {
  std::vector<size_t> floats;
  for (size_t k = 0; k < stage.results.size(); ++k)
    if (is_float(graph.info(stage.results[k]).dtype)) floats.push_back(k);
  return floats;
}

// Arguments 0 .. n-1 and n .. 2n-1 become 0 .. n-1 and total .. total+n-1.
std::vector<ExprId> renumbered(ExprPool& pool, std::span<const ExprId> combine, size_t total) {
  const size_t n = combine.size();
  Rebuilder rebuild(pool, pool, [&](ExprId leaf, std::span<const ExprId>) {
    if (!pool.is(leaf, Op::Argument)) return ExprId{};
    const size_t number = static_cast<size_t>(pool[leaf].payload);
    return pool.argument(number < n ? number : total + number - n, pool.dtype(leaf));
  });
  std::vector<ExprId> result;
  for (ExprId id : combine) result.push_back(rebuild(id));
  return result;
}

Combiner dual(ExprPool& pool, const Combiner& combiner, const std::vector<size_t>& floats) {
  const size_t n = combiner.combine.size(), total = n + floats.size();
  Combiner result = combiner;
  result.combine = renumbered(pool, combiner.combine, total);
  const auto leaf = [&](ExprId argument) {
    const size_t number = static_cast<size_t>(pool[argument].payload);
    const auto m = std::ranges::find(floats, number % total);
    if (m == floats.end()) return ExprId{};
    const size_t component = n + static_cast<size_t>(m - floats.begin());
    return pool.argument(number / total * total + component, pool.dtype(argument));
  };
  const std::vector<ExprId> derived = tangents(pool, result.combine, leaf);
  for (size_t k : floats) {
    const ExprId zero = pool.constant(0, pool.dtype(combiner.identity[k]));
    result.combine.push_back(derived[k].valid() ? derived[k] : zero);
    result.identity.push_back(zero);
  }
  return result;
}

}  // namespace

void push_custom(Graph& graph, TangentMap& map, size_t index) {
  Stage stage = graph.stages[index];
  ExprPool& pool = graph.pool;
  const std::vector<ExprId> bodies =
      tangents(pool, stage.bodies, [&](ExprId read) { return tangent_of_read(graph, map, read); });
  if (std::ranges::none_of(bodies, [](ExprId id) { return id.valid(); })) return;
  const std::vector<size_t> floats = float_components(graph, stage);
  stage.combiner = dual(pool, stage.combiner, floats);
  const size_t n = stage.results.size();
  for (size_t k : floats) {
    const DType dtype = graph.info(stage.results[k]).dtype;
    stage.bodies.push_back(bodies[k].valid() ? pool.cast(bodies[k], dtype)
                                             : pool.constant(0, dtype));
    stage.results.push_back(add_tangent(graph, map, stage.results[k]));
  }
  invariant(stage.bodies.size() == n + floats.size(), "a dual number has two parts");
  graph.stages[index] = std::move(stage);
}

}  // namespace adjit::diff
