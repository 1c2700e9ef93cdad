// autosched/passes/group_siblings.cpp -- which stages share one pass.
#include "autosched/passes/group_siblings.hpp"

#include <algorithm>
#include <list>
#include <map>
#include <unordered_map>

#include "autosched/analysis/access.hpp"
#include "autosched/analysis/work.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/passes/inline_cheap.hpp"
#include "autosched/program/points.hpp"

namespace adjit::sched {
namespace {

constexpr size_t kSearchLimit = 256;  // stages visited to prove independence

bool may_fuse(const LoweredGraph& graph, const Stage& stage) {
  if (stage.kind != StageKind::Compute || running_of(graph, stage) ||
      !combines_each(stage.combiner))
    return false;
  if (stage.combiner.kind == CombinerKind::None) return stage.domain.is_box();
  return stage.domain.reduction_rank() > 0;
}

// Operations for each point of a domain: of values that change with all axes.
double work_of_points(const ExprPool& pool, std::span<const ExprId> bodies, const Domain& domain) {
  const auto bit = [](size_t axis) { return uint64_t{1} << std::min<size_t>(axis, 63); };
  uint64_t whole = 0;
  for (size_t a = 0; a < domain.rank(); ++a)
    if (domain.extents[a] > 1) whole |= bit(a);
  std::vector<ExprId> values = reachable(pool, bodies);
  std::ranges::sort(values);  // operands before what is made of them
  std::unordered_map<uint32_t, uint64_t> axes;
  double work = 0;
  for (const ExprId id : values) {
    uint64_t mine = pool.is(id, Op::Axis) ? bit(pool.axis_number(id)) : 0;
    for (const ExprId operand : pool.operands(id)) mine |= axes[operand.value];
    axes[id.value] = mine;
    if (!pool.is(id, Op::Read) && is_float(pool.dtype(id)) && (mine & whole) == whole)
      work += operation_cost(pool, id);
  }
  return work;
}

// What two stages must have in common; their whole domains are compared afterwards.
std::vector<int64_t> key_of(const LoweredGraph& graph, const Stage& stage) {
  std::vector<int64_t> key = stage.domain.extents;
  key.push_back(static_cast<int64_t>(stage.domain.output_rank));
  key.push_back(static_cast<int64_t>(stage.combiner.kind));
  key.push_back(multiplies_pairs(graph, stage) ? 1 : 0);
  return key;
}

// Stages that share a pass, and what they read (ascending) and compute together.
struct SiblingGroup {
  std::vector<size_t> stages;
  std::vector<TensorId> read;
  std::vector<ExprId> bodies;
};

void add_to(SiblingGroup& group, const LoweredGraph& graph, size_t s) {
  const Stage& stage = graph.stages[s];
  const std::vector<TensorId> read = tensors_read(graph, stage);
  std::vector<TensorId> all;
  std::ranges::set_union(group.read, read, std::back_inserter(all));
  group.read = std::move(all);
  group.bodies.insert(group.bodies.end(), stage.bodies.begin(), stage.bodies.end());
  group.stages.push_back(s);
}

// Whether one pass over all is better than two.
bool worth_fusing(const LoweredGraph& graph, WorkMeter& meter, const SiblingGroup& before,
                  const Stage& stage) {
  if (graph.stages[before.stages.front()].domain != stage.domain) return false;
  const bool reduction = stage.combiner.kind != CombinerKind::None;
  if (reduction && before.bodies.size() + stage.bodies.size() > kMostSums) return false;
  std::vector<TensorId> common;
  std::ranges::set_intersection(before.read, tensors_read(graph, stage),
                                std::back_inserter(common));
  if (common.empty()) return false;
  std::vector<ExprId> bodies = before.bodies;
  bodies.insert(bodies.end(), stage.bodies.begin(), stage.bodies.end());
  if (meter(bodies).nodes > kBodyLimit + 100) return false;
  return !multiplies_pairs(graph, stage) ||
         share_values(graph, before.bodies, stage.bodies, stage.domain);
}

// Finds groups one after the other. Each as a whole, since a fusion takes time for the whole
// program.
class Siblings {
 public:
  Siblings(const StageSet& planned, Choices& choices) : planned_(planned), choices_(choices) {}

  // An earlier stage and those that join it, empty when there are no more.
  std::vector<size_t> next(const Program& program) {
    const LoweredGraph& graph = program.graph;
    const std::vector<size_t> producers = defining_stages(graph);
    WorkMeter meter(graph.pool);
    std::map<std::vector<int64_t>, std::list<SiblingGroup>> open;  // by key, the latest one first
    const SiblingGroup* found = nullptr;
    for (size_t s = 0; s < graph.stages.size(); ++s) {
      const Stage& stage = graph.stages[s];
      if (!may_fuse(graph, stage) || planned_.contains(stage_key(stage))) continue;
      std::list<SiblingGroup>& groups = open[key_of(graph, stage)];
      const auto joined = std::ranges::find_if(groups, [&](const SiblingGroup& group) {
        return (!found || found == &group) && joins(program, producers, meter, group, s);
      });
      if (joined != groups.end()) {
        found = &*joined;
        add_to(*joined, graph, s);
        continue;
      }
      // Sums of other pairs may stand between those of one.
      const size_t most = multiplies_pairs(graph, stage) ? kOpenGroups : 1;
      while (groups.size() >= most && &groups.back() != found) groups.pop_back();
      if (groups.size() >= most) break;
      add_to(groups.emplace_front(), graph, s);
    }
    return found ? found->stages : std::vector<size_t>{};
  }

 private:
  bool joins(const Program& program, const std::vector<size_t>& producers, WorkMeter& meter,
             const SiblingGroup& group, size_t s) {
    const Stage& stage = program.graph.stages[s];
    return worth_fusing(program.graph, meter, group, stage) &&
           independent(program, producers, group.stages, s) &&
           choices_.keeps(Decision::FuseSiblings, program.graph, stage);
  }

  const StageSet& planned_;
  Choices& choices_;
};

}  // namespace

bool independent(const Program& program, const std::vector<size_t>& producers,
                 const std::vector<size_t>& from, size_t to) {
  std::vector<size_t> open{to}, seen{to};
  while (!open.empty()) {
    const size_t stage = open.back();
    open.pop_back();
    if (std::ranges::binary_search(from, stage) || seen.size() > kSearchLimit) return false;
    for (TensorId id : tensors_read(program.graph, program.graph.stages[stage])) {
      const size_t p = producers[id.value];
      if (p == SIZE_MAX || p < from.front() || std::ranges::find(seen, p) != seen.end()) continue;
      seen.push_back(p);
      open.push_back(p);
    }
  }
  return true;
}

bool multiplies_pairs(const LoweredGraph& graph, const Stage& stage) {
  if (stage.combiner.kind != CombinerKind::Sum ||
      std::ranges::none_of(stage.bodies, [&](ExprId body) {
        return graph.pool.is(body, Op::Mul) && is_float(graph.pool.dtype(body));
      }))
    return false;
  const Accesses accesses = accesses_of(graph, stage);
  return std::ranges::all_of(accesses.reads, [&](const MemoryAccess& access) {
    return box_points(stage.domain) >= 8 * elements_touched(access, stage.domain);
  });
}

bool share_values(const LoweredGraph& graph, std::span<const ExprId> some,
                  std::span<const ExprId> others, const Domain& domain) {
  // Guesses: of an exponential, which is 14 operations, and of the work that is left.
  constexpr double kLeastSaved = 8, kMuch = 0.8;
  std::vector<ExprId> all(some.begin(), some.end());
  all.insert(all.end(), others.begin(), others.end());
  const double together = work_of_points(graph.pool, all, domain);
  const double apart =
      work_of_points(graph.pool, some, domain) + work_of_points(graph.pool, others, domain);
  return apart - together >= kLeastSaved && together <= kMuch * apart;
}

Program fuse_sibling_groups(Program program, const StageSet& planned, Choices& choices) {
  Siblings siblings(planned, choices);
  for (std::vector<size_t> group = siblings.next(program); !group.empty();
       group = siblings.next(program))
    program = fuse_siblings(std::move(program), group);
  return program;
}

}  // namespace adjit::sched
