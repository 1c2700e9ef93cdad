// autosched/gpu/join_sums.cpp -- which sums have pairs in common.
#include "autosched/gpu/join_sums.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "autosched/analysis/work.hpp"
#include "autosched/decisions/choices.hpp"
#include "autosched/gpu/cost/cost.hpp"
#include "autosched/gpu/part_cost.hpp"
#include "autosched/gpu/products/contraction.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/passes/group_siblings.hpp"
#include "autosched/passes/inline_cheap.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/part_of_program.hpp"
#include "runtime/process/cancellation.hpp"

namespace adjit::sched {
namespace {

// A sum, its short output axis, if it has one, and its domain and bodies without that.
struct Sum {
  size_t stage = 0;
  std::optional<size_t> axis;
  Domain domain;
  std::vector<ExprId> bodies;
};

// The last output axis, if it is as short as split_points() takes, and not the only one.
std::optional<size_t> short_axis(const Domain& domain) {
  if (domain.output_rank < 2) return std::nullopt;
  const size_t last = domain.output_rank - 1;
  const int64_t points = domain.extents[last];
  return points >= 1 && points <= kLargestResidue ? std::optional(last) : std::nullopt;
}

Sum sum_of(LoweredGraph& graph, size_t s) {
  const Stage& stage = graph.stages[s];
  const std::optional<size_t> axis = short_axis(stage.domain);
  Sum sum{s, axis, stage.domain, stage.bodies};
  if (!axis) return sum;
  const auto at = static_cast<std::ptrdiff_t>(*axis);
  sum.domain.extents.erase(sum.domain.extents.begin() + at);
  --sum.domain.output_rank;
  sum.bodies.clear();
  for (int64_t point = 0; point < stage.domain.extents[*axis]; ++point) {
    std::vector<ExprId> now;
    for (size_t a = 0; a < stage.domain.rank(); ++a)
      now.push_back(a == *axis ? graph.pool.constant_int(point)
                               : graph.pool.axis(a < *axis ? a : a - 1));
    sum.bodies.push_back(body_at(graph.pool, stage.bodies.front(), now, {}));
  }
  return sum;
}

// What sums have in common that may share a kernel.
using Key = std::vector<int64_t>;
Key key_of(const Sum& sum) {
  Key key = sum.domain.extents;
  key.push_back(static_cast<int64_t>(sum.domain.output_rank));
  return key;
}

// What siblings leave apart, a thin product, does not join others either.
bool may_join(const Program& program, size_t s) {
  const Stage& stage = program.graph.stages[s];
  if (!short_axis(stage.domain) && is_thin_product(program.graph, stage)) return false;
  return stage.kind == StageKind::Compute && stage.combiner.kind == CombinerKind::Sum &&
         stage.results.size() == 1 && stage.domain.output_rank > 0 &&
         stage.domain.reduction_rank() > 0 && stage.domain.is_box() &&
         !running_of(program.graph, stage) && multiplies_pairs(program.graph, stage) &&
         is_alone(program, s) && WorkMeter(program.graph.pool)(stage.bodies).nodes <= kBodyLimit;
}

// Sums over one domain whose values have much in common, of at most as many results as one kernel
// computes.
struct Group {
  std::vector<Sum> sums;
  std::vector<ExprId> bodies;

  bool is_split() const {
    return sums.size() > 1 &&
           std::ranges::any_of(sums, [](const Sum& sum) { return sum.axis.has_value(); });
  }
  void add(Sum sum) {
    bodies.insert(bodies.end(), sum.bodies.begin(), sum.bodies.end());
    sums.push_back(std::move(sum));
  }
  bool takes(const Program& program, const std::vector<size_t>& producers, const Sum& sum) const {
    return bodies.size() + sum.bodies.size() <= kMostSums &&
           share_values(program.graph, bodies, sum.bodies, sum.domain) &&
           independent(program, producers, stages(), sum.stage);
  }
  std::vector<size_t> stages() const {
    std::vector<size_t> all;
    for (const Sum& sum : sums) all.push_back(sum.stage);
    return all;
  }
};

// By the order of their first ones.
std::vector<Group> groups_of(Program& program) {
  const std::vector<size_t> producers = defining_stages(program.graph);
  std::vector<Group> groups;
  std::map<Key, std::deque<size_t>> of_key;  // the latest one first
  for (size_t s = 0; s < program.graph.stages.size(); ++s) {
    if (!may_join(program, s)) continue;
    Sum sum = sum_of(program.graph, s);
    std::deque<size_t>& open = of_key[key_of(sum)];
    const auto taking = std::ranges::find_if(
        open, [&](size_t g) { return groups[g].takes(program, producers, sum); });
    if (taking == open.end()) {
      if (open.size() == kOpenGroups) open.pop_back();
      open.push_front(groups.size());
      groups.emplace_back().add(std::move(sum));
    } else {
      groups[*taking].add(std::move(sum));
    }
  }
  std::erase_if(groups, [](const Group& group) { return !group.is_split(); });
  return groups;
}

// The sums of a group, by the stages that they are, apart: from the last one on, since stages come
// in in front of each.
Program split(Program program, std::span<const Sum> sums, std::span<const size_t> stages) {
  for (size_t k = sums.size(); k-- > 0;)
    if (sums[k].axis) program = split_points(std::move(program), stages[k], *sums[k].axis);
  return program;
}

bool is_faster_joined(const Program& program, const Group& group, const GpuMachine& machine) {
  constexpr double kClearly = 0.95;  // a guess
  check_cancelled();
  const std::vector<size_t> stages = group.stages();
  std::vector<size_t> numbers(stages.size());
  std::iota(numbers.begin(), numbers.end(), size_t{0});
  const Program part = part_of(program, stages);
  const bool from_memory = leaves_l2(program, machine);
  const auto microseconds = [&](Program p) {
    Choices unasked;
    return microseconds_of_part(fuse_sibling_groups(std::move(p), {}, unasked), machine,
                                from_memory);
  };
  return microseconds(split(part, group.sums, numbers)) < kClearly * microseconds(part);
}

}  // namespace

Program split_for_joint_sums(Program program, const GpuMachine& machine) {
  const std::vector<Group> groups = groups_of(program);
  std::vector<std::pair<size_t, size_t>> found;  // stages and their axes
  for (const Group& group : groups) {
    if (!is_faster_joined(program, group, machine)) continue;
    for (const Sum& sum : group.sums)
      if (sum.axis) found.emplace_back(sum.stage, *sum.axis);
  }
  std::ranges::sort(found, std::ranges::greater{});
  for (const auto& [stage, axis] : found) program = split_points(std::move(program), stage, axis);
  return program;
}

}  // namespace adjit::sched
