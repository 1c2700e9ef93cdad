// autosched/moves/eager_outputs.cpp -- an order of stages in which what only outputs need lives
// short.
#include <algorithm>
#include <numeric>
#include <optional>

#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/graph_edit.hpp"

namespace adjit::sched {
namespace {

// Stages whose results are outputs, or are read by one such stage alone.
std::vector<bool> lead_to_outputs_alone(const Program& program) {
  const Graph& graph = program.graph;
  std::vector<bool> output(graph.tensors.size(), false), early(graph.stages.size(), false);
  for (TensorId id : graph.outputs) output[id.value] = true;
  for (size_t s = graph.stages.size(); s-- > 0;)
    early[s] = std::ranges::all_of(graph.stages[s].results, [&](TensorId id) {
      const std::vector<size_t>& readers = program.readers[id.value];
      if (readers.empty()) return bool{output[id.value]};
      return readers.size() == 1 && early[readers.front()];
    });
  return early;
}

// The stage behind which each one goes. What needs none goes where its first reader does: a
// scatter's start, say, would wait from the beginning.
std::vector<size_t> places(const Program& program) {
  const Graph& graph = program.graph;
  const std::vector<bool> early = lead_to_outputs_alone(program);
  const std::vector<size_t> producers = defining_stages(graph);
  std::vector<size_t> behind(graph.stages.size());
  std::vector<bool> free(graph.stages.size(), false);
  for (size_t s = 0; s < behind.size(); ++s) {
    behind[s] = s;
    if (!early[s]) continue;
    std::optional<size_t> last;
    for (TensorId id : tensors_read(graph, graph.stages[s]))
      if (const size_t p = producers[id.value]; p != SIZE_MAX && !free[p])
        last = std::max(last.value_or(0), behind[p]);
    free[s] = !last;
    behind[s] = last.value_or(s);
  }
  for (size_t s = behind.size(); s-- > 0;) {
    if (!free[s]) continue;
    std::optional<size_t> first;  // several results may have a reader each
    for (TensorId id : graph.stages[s].results)
      for (size_t reader : program.readers[id.value])
        first = std::min(first.value_or(behind[reader]), behind[reader]);
    behind[s] = first.value_or(s);
  }
  return behind;
}

}  // namespace

Program eager_outputs(Program program) {
  if (program.in_place > 0)
    throw Error(ErrorCode::Schedule, "eager_outputs: results lie in place of others");
  for (const Kernel& kernel : program.kernels)
    if (!kernel.root.attached.empty())
      throw Error(ErrorCode::Schedule, "eager_outputs: order stages before attaching any");
  const std::vector<size_t> behind = places(program);
  std::vector<size_t> order(behind.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // What goes behind the same stage keeps its order.
  std::ranges::stable_sort(order, {}, [&](size_t s) { return behind[s]; });
  append_move(program, {{"move", "eager_outputs"}});
  if (std::ranges::is_sorted(order)) return program;
  sort_stages(program, order);
  return program;
}

}  // namespace adjit::sched
