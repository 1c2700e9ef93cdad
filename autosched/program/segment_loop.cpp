// autosched/program/segment_loop.cpp -- loops that go over a segment alone.
#include "autosched/program/segment_loop.hpp"

#include <algorithm>
#include <vector>

#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/threads.hpp"

namespace adjit::sched {
namespace {

// Whether a tensor that an expression reads is computed inside the loops [0, depth).
bool reads_from_inside(const Graph& graph, const Nest& nest, size_t depth, ExprId expr) {
  const ExprId roots[] = {expr};
  for (const ExprId id : reachable(graph.pool, roots)) {
    if (!graph.pool.is(id, Op::Read)) continue;
    for (const Nest::Attached& attached : nest.attached)
      if (attached.depth >= depth &&
          std::ranges::count(graph.stages[attached.nest.stage].results, graph.pool.read_tensor(id)))
        return true;
  }
  return false;
}

}  // namespace

std::optional<size_t> segment_loop(const Graph& graph, const Nest& nest, const Segments& segments) {
  const std::vector<size_t> over = loops_over(nest, segments.axis);
  if (over.size() != 1 || over[0] >= tile_begin(nest) ||
      nest.loops[over[0]].kind != LoopKind::Serial)
    return std::nullopt;
  const Stage& stage = graph.stages[nest.stage];
  if (stage.kind == StageKind::Compute &&
      (over[0] + 1 != tile_begin(nest) || is_cooperative(stage, nest)))
    return std::nullopt;
  for (const ExprId bound : {segments.begin, segments.end}) {
    if (reads_from_inside(graph, nest, over[0] + 1, bound)) return std::nullopt;
    for (size_t l = over[0] + 1; l < nest.loops.size(); ++l)
      if (uses(graph.pool, bound, nest.loops[l].axis)) return std::nullopt;
  }
  return over[0];
}

}  // namespace adjit::sched
