// runtime/diff/simplify/long_sums.cpp -- long sums of float32 are added in float64.
//
// Worked example: the sum of 4,000 numbers,
//   s() +=! x(r)  with r in 0:4000, becomes
//   s_rest() +=! double(x(3968 + r))  with r in 0:32,
//   s() +=! double((x(128 a + b) + x(128 a + b + 32)) + (x(128 a + b + 64) + x(128 a + b + 96)))
//     with a in 0:31, b in 0:32,
//   s_rounded() = float(s() + s_rest()).
// Adding four before the conversion makes the sum as fast as one of floats where its terms lie in a
// cache: half of its vectors' operations are those of the four loads' additions.
#include "runtime/diff/simplify/long_sums.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "runtime/diff/conditions/prefix_reduction.hpp"
#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/graph/index_map.hpp"
#include "runtime/graph/subgraphs.hpp"

namespace adjit::diff {
namespace {

constexpr int64_t kGroup = 4;
// The terms of a group lie kStride elements apart: four accumulators of float64 with AVX-512, and
// eight lines beside each other. Terms a quarter of a row apart meet in one set of L1: on Zen 4
// sums of 64 rows of 4,096 took 2 to 2.8 times as long. Where groups of that stride leave over more
// than 1 / kLeftOver of the axis the stride is halved, down to kLeastStride, and an axis of which
// they leave over more than 1 / kMostLeftOver is not grouped.
constexpr int64_t kStride = 32, kLeastStride = 8, kLeftOver = 32, kMostLeftOver = 8;
constexpr size_t kShortBodies = 24;  // of bodies that are written out kGroup times
// A sum has so many points at most for an element of the operand that it goes through.
constexpr double kMostUses = 4;
constexpr double kFewResults = 8;

double points_from(const Domain& domain, size_t first) {
  double product = 1;
  for (size_t axis = first; axis < domain.rank(); ++axis)
    product *= static_cast<double>(domain.extents[axis]);
  return product;
}

// Whether the expression reads an operand that the sum goes through about once.
bool passes_through(const Graph& graph, const Domain& domain, ExprId id) {
  return graph.pool.is(id, Op::Read) &&
         kMostUses * static_cast<double>(graph.info(graph.pool.read_tensor(id)).element_count()) >=
             points_from(domain, 0);
}

bool goes_through_an_operand(const Graph& graph, const Domain& domain, ExprId body) {
  return std::ranges::any_of(reachable(graph.pool, std::span(&body, 1)),
                             [&](ExprId id) { return passes_through(graph, domain, id); });
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
  return points_from(domain, domain.output_rank) >= static_cast<double>(least) &&
         std::ranges::any_of(stage.results,
                             [&](TensorId t) { return graph.info(t).dtype == DType::Float32; }) &&
         std::ranges::all_of(
             stage.bodies, [&](ExprId body) { return takes_memorys_time(graph, domain, body); }) &&
         !prefix_reduction(graph.pool, stage);
}

// Terms that are added before the conversion: at axis + k * stride for k below kGroup, so that
// stride numbers in a row are one vector's. What kGroup * stride does not divide is left over.
struct Groups {
  size_t axis;
  int64_t stride;
  int64_t left_over;
};

// The row-major place of what is read, if it is a quasi-affine form.
std::optional<IndexForm> place_of(const Graph& graph, ExprId read, const Domain& domain) {
  Affine place;
  int64_t stride = 1;
  const std::vector<int64_t>& shape = graph.info(graph.pool.read_tensor(read)).shape;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d]) place.set_coefficient(d, stride);
  return at_index(graph.pool, place, graph.pool.read_index(read), domain);
}

// Whether the sum goes through an operand from element to element along the axis.
bool walks_elements(const Graph& graph, const Stage& stage, size_t axis) {
  return std::ranges::any_of(reachable(graph.pool, stage.bodies), [&](ExprId id) {
    if (!passes_through(graph, stage.domain, id)) return false;
    const std::optional<IndexForm> place = place_of(graph, id, stage.domain);
    return place && place->domain.mentions(place->form, axis) &&
           std::abs(place->form.coefficient(axis)) <= 1;
  });
}

// What the indices of a tensor's elements are divided by, as far as stages without a reduction
// lead: those may be computed where they are read.
using Divisors = std::unordered_map<uint32_t, std::set<int64_t>>;

std::set<int64_t> divisors_of(const Graph& graph, const Stage& stage, const Divisors& known) {
  std::set<int64_t> found;
  for (ExprId id : reachable(graph.pool, stage.bodies)) {
    const Op op = graph.pool[id].op;
    if ((op == Op::FloorDiv || op == Op::Mod) && graph.pool.dtype(id) == DType::Int64) {
      const std::optional<double> by = graph.pool.value(graph.pool.operand(id, 1));
      found.insert(by ? static_cast<int64_t>(*by) : 0);
    } else if (graph.pool.is(id, Op::Read)) {
      const auto before = known.find(graph.pool.read_tensor(id).value);
      if (before != known.end()) found.insert(before->second.begin(), before->second.end());
    }
  }
  return found;
}

// Whether numbers in a row from a multiple of the stride on have one quotient each, or whole
// quotients of them one remainder: else the terms of a group are no vectors.
bool keeps_vectors(const std::set<int64_t>& divisors, int64_t stride) {
  return std::ranges::all_of(
      divisors, [&](int64_t d) { return d != 0 && (d % stride == 0 || stride % d == 0); });
}

// The reduction axis that leaves least over, the longest of several, if the bodies are short. Sums
// down many columns stay one by one: parts of their rows are tasks that they share with what works
// on the rows (autosched/cpu/passes/fuse_column_sums.hpp).
std::optional<Groups> groups_of(const Graph& graph, const Stage& stage, const Divisors& known) {
  const Domain& domain = stage.domain;
  if (!domain.is_box() || !domain.divisions.empty()) return {};
  if (reachable(graph.pool, stage.bodies).size() > kShortBodies) return {};
  if (!std::ranges::all_of(stage.results,
                           [&](TensorId t) { return graph.info(t).dtype == DType::Float32; }))
    return {};
  const std::set<int64_t> divisors = divisors_of(graph, stage, known);
  std::optional<Groups> best;
  const auto share = [&](const Groups& groups) {
    return static_cast<double>(groups.left_over) / static_cast<double>(domain.extents[groups.axis]);
  };
  for (size_t axis = domain.output_rank; axis < domain.rank(); ++axis) {
    const int64_t extent = domain.extents[axis];
    int64_t stride = walks_elements(graph, stage, axis) ? kStride : 1;
    while (stride > kLeastStride &&
           (extent % (kGroup * stride) > extent / kLeftOver || !keeps_vectors(divisors, stride)))
      stride /= 2;
    if (!keeps_vectors(divisors, stride)) continue;
    if (stride == 1 && !has_few_results(domain)) continue;
    if (extent % (kGroup * stride) > extent / kMostLeftOver) continue;
    const Groups groups{axis, stride, extent % (kGroup * stride)};
    if (!best ||
        std::pair(share(groups), -extent) < std::pair(share(*best), -domain.extents[best->axis]))
      best = groups;
  }
  return best;
}

// Each body at `first` and further along the axis.
std::vector<ExprId> moved_along(ExprPool& pool, const Stage& stage, size_t axis, int64_t first) {
  std::vector<ExprId> at = axes(pool, stage.domain.rank());
  at[axis] = pool.add(at[axis], pool.constant_int(first));
  return substitute_axes(pool, stage.bodies, at);
}

// The sum of what groups leave over.
Stage rest_of(Graph& graph, const Stage& sum, const Groups& groups) {
  const int64_t extent = sum.domain.extents[groups.axis];
  Stage rest = sum;
  rest.bodies = moved_along(graph.pool, sum, groups.axis, extent - groups.left_over);
  rest.domain.extents[groups.axis] = groups.left_over;
  return rest;
}

ExprId sum_of(ExprPool& pool, ExprId a, ExprId b) {
  if (!pool.is(b, Op::Mul)) return pool.add(a, b);
  return pool.make(Op::Fma, {pool.operand(b, 0), pool.operand(b, 1), a});
}

// Each body as the sum of a group's; the axis becomes that of groups, and one behind it that of
// the numbers between a group's terms, if there are any.
void add_in_groups(ExprPool& pool, Stage& stage, const Groups& groups) {
  std::vector<ExprId> at = axes(pool, stage.domain.rank());
  ExprId first = pool.mul(at[groups.axis], pool.constant_int(kGroup * groups.stride));
  std::vector<int64_t>& extents = stage.domain.extents;
  extents[groups.axis] /= kGroup * groups.stride;
  if (groups.stride > 1) {
    const size_t within = groups.axis + 1;
    extents.insert(extents.begin() + static_cast<ptrdiff_t>(within), groups.stride);
    for (size_t axis = within; axis < at.size(); ++axis) at[axis] = pool.axis(axis + 1);
    first = pool.add(first, pool.axis(within));
  }
  std::array<std::vector<ExprId>, kGroup> terms;
  for (int64_t k = 0; k < kGroup; ++k) {
    at[groups.axis] = pool.add(first, pool.constant_int(k * groups.stride));
    terms[static_cast<size_t>(k)] = substitute_axes(pool, stage.bodies, at);
  }
  for (size_t k = 0; k < stage.bodies.size(); ++k)
    stage.bodies[k] =
        pool.add(sum_of(pool, terms[0][k], terms[1][k]), sum_of(pool, terms[2][k], terms[3][k]));
}

// Makes the float32 results of a sum float64 ones under the names that they had, or that and a
// suffix; the sum's old results are free then.
void widen(Graph& graph, Stage& sum, const std::string& suffix) {
  for (size_t k = 0; k < sum.results.size(); ++k) {
    const TensorInfo narrow = graph.info(sum.results[k]);
    if (narrow.dtype != DType::Float32) continue;
    sum.results[k] = add_tensor(graph, narrow.name + suffix, DType::Float64, narrow.shape);
    sum.bodies[k] = graph.pool.cast(sum.bodies[k], DType::Float64);
  }
}

// The stages with wide sums, of groups and of what they leave over, and the stage that rounds what
// these give.
void append_widened(Graph& graph, Stage sum, const Divisors& known, std::vector<Stage>& stages) {
  ExprPool& pool = graph.pool;
  const Stage narrow = sum;
  std::vector<Stage> sums;
  if (const std::optional<Groups> groups = groups_of(graph, sum, known)) {
    if (groups->left_over > 0) sums.push_back(rest_of(graph, sum, *groups));
    add_in_groups(pool, sum, *groups);
  }
  sums.push_back(std::move(sum));
  for (Stage& wide : sums) widen(graph, wide, &wide == &sums.back() ? "_rounded" : "_rest");
  Stage rounding;
  const std::span<const int64_t> extents(narrow.domain.extents.data(), narrow.domain.output_rank);
  rounding.domain = shape_box({extents.begin(), extents.end()});
  rounding.lines = narrow.lines;
  rounding.region = narrow.region;
  const std::vector<ExprId> index = axes(pool, extents.size());
  for (size_t k = 0; k < narrow.results.size(); ++k) {
    const TensorId result = narrow.results[k], wide = sums.back().results[k];
    if (wide == result) continue;
    std::swap(graph.tensors[wide.value].name, graph.tensors[result.value].name);
    ExprId total = read(graph, wide, index);
    if (sums.size() > 1) total = pool.add(total, read(graph, sums[0].results[k], index));
    rounding.results.push_back(result);
    rounding.bodies.push_back(pool.cast(total, DType::Float32));
  }
  std::ranges::move(sums, std::back_inserter(stages));
  stages.push_back(std::move(rounding));
}

}  // namespace

Graph long_sums_in_float64(const Graph& source) {
  Graph graph = with_subgraphs(source, long_sums_in_float64);
  std::vector<Stage> stages;
  Divisors known;
  for (Stage& stage : graph.stages) {
    if (is_long_sum(graph, stage)) {
      append_widened(graph, std::move(stage), known, stages);
      continue;
    }
    if (stage.kind == StageKind::Compute && stage.combiner.kind == CombinerKind::None)
      if (const std::set<int64_t> divisors = divisors_of(graph, stage, known); !divisors.empty())
        for (TensorId result : stage.results) known[result.value] = divisors;
    stages.push_back(std::move(stage));
  }
  graph.stages = std::move(stages);
  return graph;
}

}  // namespace adjit::diff
