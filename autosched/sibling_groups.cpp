// autosched/sibling_groups.cpp -- which stages share one pass.
#include "autosched/sibling_groups.hpp"

#include <algorithm>
#include <map>

#include "autosched/access.hpp"
#include "autosched/inlining.hpp"
#include "autosched/moves.hpp"
#include "autosched/points.hpp"
#include "autosched/work.hpp"

namespace adjit {
namespace {

constexpr size_t kSearchLimit = 256;  // stages visited to prove independence

// Whether nothing that `from` computes reaches `to`, both in one graph; false when that takes too
// long to tell.
bool independent(const Program& program, const std::vector<size_t>& producers, size_t from,
                 size_t to) {
  std::vector<size_t> open{to}, seen{to};
  WorkMeter meter(program.graph.pool);
  while (!open.empty()) {
    const size_t stage = open.back();
    open.pop_back();
    if (stage == from || seen.size() > kSearchLimit) return false;
    for (TensorId id : tensors_read(program.graph, program.graph.stages[stage])) {
      const size_t p = producers[id.value];
      if (p == SIZE_MAX || p < from || std::ranges::find(seen, p) != seen.end()) continue;
      seen.push_back(p);
      open.push_back(p);
    }
  }
  return true;
}

constexpr size_t kMostSums = 8;  // of a reduction: each needs accumulators of its own

// Contractions want their registers for one tile.
bool is_contraction(const Graph& graph, const Stage& stage) {
  if (!is_product_sum(graph, stage)) return false;
  const Accesses accesses = accesses_of(graph, stage);
  return std::ranges::all_of(accesses.reads, [&](const MemoryAccess& access) {
    return box_points(stage.domain) >= 8 * elements_touched(access, stage.domain);
  });
}

bool may_fuse(const Graph& graph, const Stage& stage) {
  if (stage.kind != StageKind::Compute || stage.running || !combines_each(stage.combiner))
    return false;
  if (stage.combiner.kind == CombinerKind::None) return stage.domain.is_box();
  return stage.domain.reduction_rank() > 0 && !is_contraction(graph, stage);
}

// What two stages must have in common; their whole domains are compared afterwards.
std::vector<int64_t> key_of(const Stage& stage) {
  std::vector<int64_t> key = stage.domain.extents;
  key.push_back(static_cast<int64_t>(stage.domain.output_rank));
  key.push_back(static_cast<int64_t>(stage.combiner.kind));
  return key;
}

// Whether one pass over both is better than two.
bool worth_fusing(const Graph& graph, WorkMeter& meter, const Stage& before, const Stage& stage) {
  if (before.domain != stage.domain) return false;
  const bool reduction = stage.combiner.kind != CombinerKind::None;
  if (reduction && before.bodies.size() + stage.bodies.size() > kMostSums) return false;
  const std::vector<TensorId> a = tensors_read(graph, before), b = tensors_read(graph, stage);
  std::vector<TensorId> common;
  std::ranges::set_intersection(a, b, std::back_inserter(common));
  if (common.empty()) return false;
  std::vector<ExprId> bodies = before.bodies;
  bodies.insert(bodies.end(), stage.bodies.begin(), stage.bodies.end());
  return meter(bodies).nodes <= kBodyLimit + 100;
}

// The next group of two: an earlier stage and a later one that joins it.
std::vector<size_t> next_group(const Program& program, const StageSet& planned, size_t& from,
                               Choices& choices) {
  const Graph& graph = program.graph;
  const std::vector<size_t> producers = defining_stages(graph);
  WorkMeter meter(graph.pool);
  std::map<std::vector<int64_t>, size_t> open;  // the latest stage
  for (size_t s = 0; s < graph.stages.size(); ++s) {
    const Stage& stage = graph.stages[s];
    if (!may_fuse(graph, stage) || planned.contains(stage.results.front().value)) continue;
    const std::vector<int64_t> key = key_of(stage);
    const auto before = open.find(key);
    if (s >= from && before != open.end()) {
      const size_t u = before->second;
      if (worth_fusing(graph, meter, graph.stages[u], stage) &&
          independent(program, producers, u, s) &&
          choices.keeps(Decision::Siblings, graph, stage)) {
        from = s;
        return {u, s};
      }
    }
    open[key] = s;
  }
  from = SIZE_MAX;
  return {};
}

}  // namespace

Program fuse_sibling_groups(Program program, const StageSet& planned, Choices& choices) {
  for (size_t from = 0; from != SIZE_MAX;) {
    const std::vector<size_t> group = next_group(program, planned, from, choices);
    if (group.empty()) break;
    program = fuse_siblings(std::move(program), group);
  }
  return program;
}

}  // namespace adjit
