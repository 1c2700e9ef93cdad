// autosched/analysis/shared_buffers.cpp -- who reads what lies in a buffer after it has been
// written again.
#include "autosched/analysis/shared_buffers.hpp"

#include <algorithm>
#include <numeric>

#include "autosched/analysis/access.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {
namespace {

bool fits(const LoweredGraph& graph, TensorId from, TensorId to) {
  const TensorInfo &a = graph.info(from), &b = graph.info(to);
  return a.dtype == b.dtype && a.element_count() == b.element_count() &&
         row_gap(graph, from) == 0 && row_gap(graph, to) == 0;
}

// Whether what a scatter adds, or where to, depends on the tensor.
bool reads_in_points(const Graph& graph, const Stage& stage, TensorId tensor) {
  std::vector<ExprId> roots = stage.bodies;
  roots.insert(roots.end(), stage.target.begin(), stage.target.end());
  return std::ranges::any_of(reachable(graph.pool, roots), [&](ExprId id) {
    return graph.pool.is(id, Op::Read) && graph.pool.read_tensor(id) == tensor;
  });
}

}  // namespace

bool only_reshapes(const LoweredGraph& graph, const Stage& stage) {
  const ExprPool& pool = graph.pool;
  if (stage.kind != StageKind::Compute || stage.combiner.kind != CombinerKind::None ||
      running_of(graph, stage) || stage.bodies.size() != 1 || !stage.domain.is_box() ||
      !pool.is(stage.bodies[0], Op::Read) || pool.read_predicate(stage.bodies[0]).valid())
    return false;
  if (!fits(graph, pool.read_tensor(stage.bodies[0]), stage.results[0])) return false;
  const Accesses accesses = accesses_of(graph, stage);
  // Others are those of the indices: a permutation is no other shape, whatever it is read by.
  const auto read = std::ranges::find(accesses.reads, stage.bodies[0], &MemoryAccess::read);
  if (read == accesses.reads.end()) return false;
  for (size_t a = 0; a < stage.domain.rank(); ++a)
    if (stage.domain.extents[a] > 1 &&
        (read->irregular[a] || read->strides[a] != accesses.result.strides[a]))
      return false;
  // Indices that no axis moves may still come from data.
  return std::ranges::none_of(reachable(pool, pool.read_index(stage.bodies[0])),
                              [&](ExprId id) { return pool.is(id, Op::Read); });
}

BufferSharing::BufferSharing(const LoweredGraph& graph, std::span<const size_t> in_place)
    : graph_(graph),
      producers_(defining_stages(graph)),
      wanted_(graph.tensors.size()),
      returned_(graph.tensors.size(), false),
      started_(graph.tensors.size(), false),
      moved_to_(graph.tensors.size(), SIZE_MAX),
      in_place_(graph.stages.size(), false) {
  for (size_t s = 0; s < graph.stages.size(); ++s) {
    const Stage& stage = graph.stages[s];
    for (TensorId id : tensors_read(graph, stage)) wanted_[id.value].push_back(s);
    if (stage.kind == StageKind::Scatter && stage.initial.valid())
      started_[stage.initial.value] = true;
  }
  for (TensorId id : graph.outputs) returned_[id.value] = true;
  for (size_t s : in_place) {
    moved_to_[graph.pool.read_tensor(graph.stages[s].bodies[0]).value] = s;
    in_place_[s] = true;
  }
}

const char* BufferSharing::refusal(size_t stage, TensorId from) const {
  const Stage& writer = graph_.stages[stage];
  const size_t producer = producers_[from.value];
  if (producer == SIZE_MAX) return "what it reads is the caller's";
  if (returned_[from.value]) return "the caller wants what it reads, too";
  if (writer.results.size() != 1 || !fits(graph_, from, writer.results[0]))
    return "it does not read every element once, in their order";
  const size_t elsewhere = moved_to_[from.value];
  if (moved_to_[writer.results[0].value] != SIZE_MAX || in_place_[producer] ||
      (elsewhere != SIZE_MAX && elsewhere != stage))
    return "a tensor lies in place of another result already";
  return writer.kind == StageKind::Scatter ? refusal_of_start(stage, from)
                                           : refusal_of_values(stage, from);
}

// Of two tensors with the same elements, neither may be written over.
const char* BufferSharing::refusal_of_values(size_t stage, TensorId from) const {
  const Stage& writer = graph_.stages[stage];
  if (!only_reshapes(graph_, writer) || graph_.pool.read_tensor(writer.bodies[0]) != from)
    return "it does not read every element once, in their order";
  if (started_[from.value] || started_[writer.results[0].value]) return "a scatter writes over it";
  return nullptr;
}

// Nobody else wants what a scatter writes over.
const char* BufferSharing::refusal_of_start(size_t stage, TensorId from) const {
  const Stage& writer = graph_.stages[stage];
  if (writer.initial != from) return "it does not start from that";
  if (wanted_[from.value].size() > 1) return "others read what it starts from";
  if (reads_in_points(graph_, writer, from)) return "its points read what it starts from";
  return nullptr;
}

std::vector<uint32_t> shared_buffers(const Program& program) {
  const Graph& graph = program.graph;
  std::vector<uint32_t> buffer(graph.tensors.size());
  std::iota(buffer.begin(), buffer.end(), 0u);
  for (size_t s : stages_in_place(program)) {
    const Stage& stage = graph.stages[s];
    buffer[graph.pool.read_tensor(stage.bodies[0]).value] = stage.results[0].value;
  }
  for (size_t s = graph.stages.size(); s-- > 0;) {
    const Stage& stage = graph.stages[s];
    if (stage.kind == StageKind::Scatter && stage.initial.valid())
      buffer[stage.initial.value] = buffer[stage.results[0].value];
  }
  return buffer;
}

}  // namespace adjit::sched
