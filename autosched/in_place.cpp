// autosched/in_place.cpp -- results that are another shape of what lies in the workspace.
//
//   C[i, j] = sum over k of A[i, k] B[k, j], i < 6;   y[b, r, j] = C[3 b + r, j], b < 2, r < 3
// C is computed where the caller wants y; nothing is copied.
#include <algorithm>

#include "autosched/access.hpp"
#include "autosched/move_record.hpp"
#include "autosched/moves.hpp"

namespace adjit {
namespace {

bool starts_scatters(const Program& program, TensorId id) {
  return std::ranges::any_of(program.graph.stages, [&](const Stage& stage) {
    return stage.kind == StageKind::Scatter && stage.initial == id;
  });
}

// Whether a tensor lies where a result in its place does.
bool lies_elsewhere(const Program& program, TensorId id) {
  return std::ranges::any_of(stages_in_place(program), [&](size_t s) {
    const Graph& graph = program.graph;
    return graph.pool.read_tensor(graph.stages[s].bodies[0]) == id;
  });
}

// Why a stage does not only give a tensor of the workspace another shape; null: it does.
const char* refusal(const Program& program, const Stage& stage) {
  const Graph& graph = program.graph;
  if (stage.kind != StageKind::Compute || stage.combiner.kind != CombinerKind::None ||
      stage.running || stage.bodies.size() != 1 || !stage.domain.is_box() ||
      !graph.pool.is(stage.bodies[0], Op::Read))
    return "it does not only read a tensor";
  const TensorId from = graph.pool.read_tensor(stage.bodies[0]), to = stage.results[0];
  if (program.scopes[from.value] != Scope::Workspace)
    return "what it reads is not in the workspace";
  const size_t producer = defining_stages(graph)[from.value];
  if (graph.stages[producer].kind != StageKind::Compute || !find_nest(program, producer))
    return "what it reads has no kernel of its own";
  const TensorInfo &source = graph.info(from), &result = graph.info(to);
  if (source.dtype != result.dtype || source.element_count() != result.element_count() ||
      source.row_gap != 0 || result.row_gap != 0)
    return "it does not read every element once, in their order";
  const Accesses accesses = accesses_of(graph, stage);
  const MemoryAccess& read = accesses.reads[0];
  for (size_t a = 0; a < stage.domain.rank(); ++a)
    if (stage.domain.extents[a] > 1 &&
        (read.irregular[a] || read.strides[a] != accesses.result.strides[a]))
      return "it does not read every element once, in their order";
  if (read.guarded) return "it reads under a condition";
  if (starts_scatters(program, from) || starts_scatters(program, to))
    return "a scatter writes over it";
  if (lies_elsewhere(program, from) || lies_elsewhere(program, to))
    return "a tensor lies in place of another result already";
  return nullptr;
}

}  // namespace

Program in_place(Program program, size_t stage) {
  const Move move = begin_move("in_place", program, stage);
  const NestPath path = move.path();
  move.require(path.steps.empty() && nest_at(program, path).attached.empty(),
               "it is attached, or has others attached to it");
  if (const char* why = refusal(program, move.stage_ref())) move.refuse(why);
  program.kernels.erase(program.kernels.begin() + static_cast<std::ptrdiff_t>(path.kernel));
  ++program.in_place;
  move.record(Json::object());
  return program;
}

Program reshapes_in_place(Program program) {
  std::vector<size_t> roots;
  for (const Kernel& kernel : program.kernels)
    if (!kernel.steps && kernel.root.attached.empty() &&
        !refusal(program, program.graph.stages[kernel.root.stage]))
      roots.push_back(kernel.root.stage);
  for (size_t root : roots)
    if (!refusal(program, program.graph.stages[root])) program = in_place(std::move(program), root);
  return program;
}

}  // namespace adjit
