// autosched/moves/alias_reshape.cpp -- results that are another shape of what lies in the
// workspace.
//
//   C[i, j] = sum over k of A[i, k] B[k, j], i < 6;   y[b, r, j] = C[3 b + r, j], b < 2, r < 3
// C is computed where the caller wants y; nothing is copied.
#include "autosched/analysis/shared_buffers.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"

namespace adjit::sched {
namespace {

// Why a stage is not one whose result may lie where what it reads does; null: it is.
const char* refusal(const Program& program, const BufferSharing& sharing, size_t s) {
  const Graph& graph = program.graph;
  const Stage& stage = graph.stages[s];
  if (stage.kind != StageKind::Compute || stage.bodies.size() != 1 ||
      !graph.pool.is(stage.bodies[0], Op::Read))
    return "it does not only read a tensor";
  const TensorId from = graph.pool.read_tensor(stage.bodies[0]);
  if (program.scopes[from.value] != Scope::Workspace)
    return "what it reads is not in the workspace";
  const size_t producer = sharing.producer_of(from);
  if (graph.stages[producer].kind != StageKind::Compute || !find_nest(program, producer))
    return "what it reads has no kernel of its own";
  return sharing.refusal(s, from);
}

}  // namespace

Program alias_reshape(Program program, size_t stage) {
  const Move move = begin_move("alias_reshape", program, stage);
  const size_t kernel = move.own_kernel("it is attached, or has others attached to it");
  const BufferSharing sharing(program.graph, stages_in_place(program));
  if (const char* why = refusal(program, sharing, stage)) move.refuse(why);
  program.kernels.erase(program.kernels.begin() + static_cast<std::ptrdiff_t>(kernel));
  ++program.in_place;
  move.record(Json::object());
  return program;
}

Program reshapes_in_place(Program program) {
  const auto may_be = [&](size_t root) {
    const BufferSharing sharing(program.graph, stages_in_place(program));
    return !refusal(program, sharing, root);
  };
  std::vector<size_t> roots;
  const BufferSharing before(program.graph, stages_in_place(program));
  for (const Kernel& kernel : program.kernels)
    if (!kernel.steps && kernel.root.attached.empty() &&
        !refusal(program, before, kernel.root.stage))
      roots.push_back(kernel.root.stage);
  for (size_t root : roots)  // one may stand in another's way
    if (may_be(root)) program = alias_reshape(std::move(program), root);
  return program;
}

}  // namespace adjit::sched
