// autosched/gpu/loops/vector_lanes.cpp -- what lies side by side along an axis.
#include "autosched/gpu/loops/vector_lanes.hpp"

#include <algorithm>

#include "autosched/analysis/access.hpp"
#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/graph_edit.hpp"

namespace adjit::sched {
namespace {

constexpr int64_t kMostLanes = 8;

// Bytes of the widest element that a stage reads or, other than a reduction's, writes: a sum is
// stored once for many elements that are read.
int64_t widest_element(const Graph& graph, const Stage& stage) {
  size_t bytes = 1;
  for (TensorId id : tensors_read(graph, stage))
    bytes = std::max(bytes, size_of(graph.info(id).dtype));
  if (stage.domain.reduction_rank() > 0) return static_cast<int64_t>(bytes);
  for (TensorId id : stage.results) bytes = std::max(bytes, size_of(graph.info(id).dtype));
  return static_cast<int64_t>(bytes);
}

// Whether an access of several elements along the axis is one of neighbours, or one for all.
bool lie_side_by_side(const LoweredGraph& graph, const Stage& stage, size_t axis) {
  if (stage.domain.is_bounded(axis)) return false;
  if (axis < stage.domain.output_rank && axis + 1 != stage.domain.output_rank) return false;
  const Accesses accesses = accesses_of(graph, stage);
  return std::ranges::all_of(accesses.reads, [&](const MemoryAccess& read) {
    const ExprId predicate = graph.pool.read_predicate(read.read);
    return !(predicate.valid() && uses(graph.pool, predicate, axis)) &&
           (!read.depends_on(axis) || (!read.irregular[axis] && read.strides[axis] == 1));
  });
}

}  // namespace

int64_t lanes_along(const LoweredGraph& graph, const Stage& stage, size_t axis, int64_t span) {
  const int64_t lanes = std::min(kMostLanes, kAccessBits / 8 / widest_element(graph, stage));
  if (lanes < 2 || span == 0 || span % lanes != 0) return 1;
  if (axis >= stage.domain.output_rank && !has_partial_results(stage.combiner.kind)) return 1;
  return lie_side_by_side(graph, stage, axis) ? lanes : 1;
}

int64_t lanes_loaded_along(const LoweredGraph& graph, const Stage& stage, size_t axis,
                           int64_t span) {
  const int64_t lanes = std::min(kMostLanes, kAccessBits / 8 / widest_element(graph, stage));
  if (lanes < 2 || span == 0 || span % lanes != 0 || stage.domain.extents[axis] % lanes != 0 ||
      stage.domain.is_bounded(axis))
    return 1;
  const auto whole = [&](const MemoryAccess& read) {
    const ExprId predicate = graph.pool.read_predicate(read.read);
    if (predicate.valid() && uses(graph.pool, predicate, axis)) return false;
    if (read.strides[axis] != 1) return false;
    for (size_t a = 0; a < stage.domain.rank(); ++a)
      if (read.irregular[a] || (a != axis && read.strides[a] % lanes != 0)) return false;
    return true;
  };
  const Accesses accesses = accesses_of(graph, stage);
  return !accesses.reads.empty() && std::ranges::all_of(accesses.reads, whole) ? lanes : 1;
}

}  // namespace adjit::sched
