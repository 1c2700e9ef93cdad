// runtime/diff/long_sums.cpp -- long sums of float32 are added in float64.
//
// Worked example: the sum of 4,000 numbers,
//   s() +=! x(r)  with r in 0:4000, becomes
//   s() +=! double((x(r) + x(r + 1000)) + (x(r + 2000) + x(r + 3000)))  with r in 0:1000,
//   s_rounded() = float(s()).
// Adding four before the conversion makes the sum as fast as one of floats where its terms lie in a
// cache: half of its vectors' operations are those of the four loads' additions.
#include "runtime/diff/long_sums.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "runtime/diff/prefix_reduction.hpp"
#include "runtime/diff/rewrite.hpp"
#include "runtime/graph/subgraphs.hpp"

namespace adjit {
namespace {

constexpr int64_t kGroup = 4;
constexpr size_t kShortBodies = 24;  // of bodies that are written out kGroup times
// A sum has so many points at most for an element of the operand that it goes through.
constexpr double kMostUses = 4;
constexpr double kFewResults = 8;

double points(const Domain& domain, size_t first) {
  double product = 1;
  for (size_t axis = first; axis < domain.rank(); ++axis)
    product *= static_cast<double>(domain.extents[axis]);
  return product;
}

bool goes_through_an_operand(const Graph& graph, const Domain& domain, ExprId body) {
  const auto is_passed_through = [&](ExprId id) {
    return graph.pool.is(id, Op::Read) &&
           kMostUses *
                   static_cast<double>(graph.info(graph.pool.read_tensor(id)).element_count()) >=
               points(domain, 0);
  };
  return std::ranges::any_of(reachable(graph.pool, std::span(&body, 1)), is_passed_through);
}

// Of a product both factors must be new at most points: a vector that a matrix is multiplied by is
// not.
bool takes_memorys_time(const Graph& graph, const Domain& domain, ExprId body) {
  if (!graph.pool.is(body, Op::Mul)) return goes_through_an_operand(graph, domain, body);
  return std::ranges::all_of(graph.pool.operands(body), [&](ExprId factor) {
    return goes_through_an_operand(graph, domain, factor);
  });
}

bool has_few_results(const Domain& domain) {
  double results = 1;
  for (size_t axis = 0; axis < domain.output_rank; ++axis)
    results *= static_cast<double>(domain.extents[axis]);
  return results <= kFewResults;
}

bool is_long_sum(const Graph& graph, const Stage& stage) {
  if (stage.kind != StageKind::Compute || stage.combiner.kind != CombinerKind::Sum) return false;
  const Domain& domain = stage.domain;
  const int64_t least = has_few_results(domain) ? kLongSum : kLongSumOfMany;
  return points(domain, domain.output_rank) >= static_cast<double>(least) &&
         std::ranges::any_of(stage.results,
                             [&](TensorId t) { return graph.info(t).dtype == DType::Float32; }) &&
         std::ranges::all_of(
             stage.bodies, [&](ExprId body) { return takes_memorys_time(graph, domain, body); }) &&
         !prefix_reduction(graph.pool, stage);
}

// The longest reduction axis that can be cut in equal parts, if the bodies are short. (Of many
// results, tiles would go through four places of memory for each.)
std::optional<size_t> axis_of_groups(const Graph& graph, const Stage& stage) {
  const Domain& domain = stage.domain;
  if (!has_few_results(domain) || !domain.is_box() || !domain.divisions.empty()) return {};
  if (reachable(graph.pool, stage.bodies).size() > kShortBodies) return {};
  std::optional<size_t> longest;
  for (size_t axis = domain.output_rank; axis < domain.rank(); ++axis)
    if (domain.extents[axis] % kGroup == 0 &&
        (!longest || domain.extents[axis] > domain.extents[*longest]))
      longest = axis;
  return longest;
}

ExprId sum_of(ExprPool& pool, ExprId a, ExprId b) {
  if (!pool.is(b, Op::Mul)) return pool.add(a, b);
  return pool.make(Op::Fma, {pool.operand(b, 0), pool.operand(b, 1), a});
}

// Each body as the sum of the parts'; the axis becomes one part's.
void add_in_groups(ExprPool& pool, Stage& stage, size_t axis) {
  const int64_t part = stage.domain.extents[axis] / kGroup;
  std::vector<ExprId> at = axes(pool, stage.domain.rank());
  std::array<std::vector<ExprId>, kGroup> terms;
  for (int64_t k = 0; k < kGroup; ++k) {
    at[axis] = pool.add(pool.axis(axis), pool.constant_int(k * part));
    terms[static_cast<size_t>(k)] = substitute_axes(pool, stage.bodies, at);
  }
  stage.domain.extents[axis] = part;
  for (size_t k = 0; k < stage.bodies.size(); ++k)
    stage.bodies[k] =
        pool.add(sum_of(pool, terms[0][k], terms[1][k]), sum_of(pool, terms[2][k], terms[3][k]));
}

// The stage with wide sums, under the names that they had, and the stage that rounds them.
std::pair<Stage, Stage> widened(Graph& graph, Stage sum) {
  ExprPool& pool = graph.pool;
  if (const std::optional<size_t> axis = axis_of_groups(graph, sum))
    add_in_groups(pool, sum, *axis);
  const std::span<const int64_t> extents(sum.domain.extents.data(), sum.domain.output_rank);
  Stage rounding;
  rounding.domain = shape_box({extents.begin(), extents.end()});
  rounding.lines = sum.lines;
  rounding.region = sum.region;
  const std::vector<ExprId> index = axes(pool, extents.size());
  for (size_t k = 0; k < sum.results.size(); ++k) {
    const TensorId narrow = sum.results[k];
    if (graph.info(narrow).dtype != DType::Float32) continue;
    const TensorId wide = add_tensor(graph, graph.info(narrow).name + "_rounded", DType::Float64,
                                     graph.info(narrow).shape);
    std::swap(graph.tensors[wide.value].name, graph.tensors[narrow.value].name);
    sum.bodies[k] = pool.cast(sum.bodies[k], DType::Float64);
    sum.results[k] = wide;
    rounding.results.push_back(narrow);
    rounding.bodies.push_back(pool.cast(read(graph, wide, index), DType::Float32));
  }
  return {std::move(sum), std::move(rounding)};
}

}  // namespace

Graph long_sums_in_float64(const Graph& source) {
  Graph graph = with_subgraphs(source, long_sums_in_float64);
  std::vector<Stage> stages;
  for (Stage& stage : graph.stages) {
    if (!is_long_sum(graph, stage)) {
      stages.push_back(std::move(stage));
      continue;
    }
    auto [sum, rounding] = widened(graph, std::move(stage));
    stages.push_back(std::move(sum));
    stages.push_back(std::move(rounding));
  }
  graph.stages = std::move(stages);
  return graph;
}

}  // namespace adjit
