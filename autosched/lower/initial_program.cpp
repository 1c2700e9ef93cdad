// autosched/lower/initial_program.cpp -- stages lowered, each with plain loops.
#include "autosched/lower/initial_program.hpp"

#include <memory>

#include "autosched/lower/guard_reads.hpp"
#include "autosched/lower/near_indices.hpp"
#include "autosched/lower/prefix.hpp"
#include "autosched/lower/scans.hpp"
#include "autosched/lower/scatters.hpp"
#include "autosched/program/nests.hpp"
#include "runtime/expr/error.hpp"

namespace adjit::sched {

namespace {

// Calls have no loop nest.
void refuse_uncompilable(const Graph& graph, const Stage& stage) {
  if (stage.kind != StageKind::Call) return;
  const std::string where = stage.lines.empty() ? "" : to_string(stage.lines.front()) + ": ";
  throw Error(ErrorCode::Compile, where + "this version does not compile calls ('" + stage.callee +
                                      "' for '" + stage_name(graph, stage) +
                                      "'); they are printed and parsed");
}

}  // namespace

Program initial_program(const Graph& source, const Target& target) {
  Program program;
  program.graph =
      guard_reads(lower_running(lower_scatters(near_indices(LoweredGraph(lower_scans(source))))));
  const LoweredGraph& graph = program.graph;
  program.target = target;
  program.scopes.assign(graph.tensors.size(), Scope::None);
  for (TensorId id : graph.inputs) program.scopes[id.value] = Scope::Argument;
  for (const ConstantData& c : graph.constants) program.scopes[c.tensor.value] = Scope::Argument;
  program.kernels.reserve(graph.stages.size());
  for (size_t s = 0; s < graph.stages.size(); ++s) {
    refuse_uncompilable(graph, graph.stages[s]);
    for (TensorId id : graph.stages[s].results) program.scopes[id.value] = Scope::Workspace;
    Kernel kernel;
    kernel.root = plain_nest(graph, s, kernel.variable_count);
    if (graph.stages[s].kind == StageKind::Scan)
      kernel.steps =
          std::make_shared<const Program>(initial_program(*graph.stages[s].scan->body, target));
    program.kernels.push_back(std::move(kernel));
  }
  for (TensorId id : graph.outputs) program.scopes[id.value] = Scope::Argument;
  index_readers(program);
  return program;
}

}  // namespace adjit::sched
