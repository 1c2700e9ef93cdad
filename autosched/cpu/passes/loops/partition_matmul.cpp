// autosched/cpu/passes/loops/partition_matmul.cpp -- rows or columns of a matrix product as tasks.
#include "autosched/cpu/passes/loops/partition_matmul.hpp"

#include <algorithm>
#include <numeric>

#include "autosched/analysis/exact_counts.hpp"
#include "autosched/cpu/tile/matmul_like.hpp"
#include "autosched/machine/core_time.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"

namespace adjit::sched {
namespace {

// The dimension of a tensor whose parts several cores write in tasks of their own, if there is one.
std::optional<size_t> written_along(const Program& program, TensorId tensor) {
  const size_t stage = defining_stages(program.graph)[tensor.value];
  if (stage == SIZE_MAX) return std::nullopt;
  const std::optional<NestPath> path = find_nest(program, stage);
  if (!path) return std::nullopt;
  const Nest& root = program.kernels[path->kernel].root;
  if (parallel_depth(root) == 0) return std::nullopt;
  const Stage& writer = program.graph.stages[stage];
  if (writer.kind != StageKind::Compute) return std::nullopt;  // data or steps say where
  const Loop& tasks = root.loops.front();
  const size_t rank = writer.domain.output_rank;
  if (path->steps.empty()) return tasks.axis < rank ? std::optional(tasks.axis) : std::nullopt;
  const Nest& nest = nest_at(program, *path);
  for (size_t a = 0; a < rank; ++a)
    if (tasks.variable < nest.axis_base[a].size() &&
        nest.axis_base[a].coefficient(tasks.variable) != 0)
      return a;
  return std::nullopt;
}

// Cycles of the core that gets the most.
class TaskCosts {
 public:
  TaskCosts(const Program& program, size_t stage, const TileChoice& tile, const CpuMachine& machine)
      : program_(program),
        stage_(program.graph.stages[stage]),
        tile_(tile),
        machine_(machine),
        accesses_(accesses_of(program.graph, stage_)) {}

  double along(size_t axis) const {
    return (tile_.cycles - tile_.packing) * share(axis) + cycles_from_l3(machine_, elsewhere(axis));
  }

 private:
  // Of all tiles, those of the core that gets the most.
  double share(size_t axis) const {
    const int64_t points = tile_.factors[axis] * (tile_.vector_axis == axis ? tile_.lanes : 1);
    const int64_t trips = ceil_div(stage_.domain.extents[axis], points);
    return static_cast<double>(ceil_div(trips, cpu_of(program_.target).cores)) /
           static_cast<double>(trips);
  }

  // Bytes that a core reads of what others wrote, here or in a later kernel, which has its tasks
  // along the first axis more often than not.
  double elsewhere(size_t axis) const {
    const Graph& graph = program_.graph;
    const double others =
        static_cast<double>(cpu_of(program_.target).cores - 1) / cpu_of(program_.target).cores;
    double bytes = 0;
    for (const MemoryAccess& access : accesses_.reads) {
      const std::optional<size_t> dim = written_along(program_, access.tensor);
      if (!dim) continue;
      const bool own = uses(graph.pool, graph.pool.read_index(access.read)[*dim], axis);
      const double read = elements_touched(access, stage_.domain) *
                          static_cast<double>(size_of(graph.info(access.tensor).dtype));
      if (!own) bytes += others * read;
    }
    const TensorId result = stage_.results.front();
    if (axis != 0 && std::ranges::count(graph.outputs, result) == 0)
      bytes += others * static_cast<double>(tensor_bytes(graph, result));
    return bytes;
  }

  const Program& program_;
  const Stage& stage_;
  const TileChoice& tile_;
  const CpuMachine& machine_;
  Accesses accesses_;
};

}  // namespace

OrderedResults order_product(Program program, size_t stage, const TileChoice& tile,
                             const CpuMachine& machine, Choices& choices) {
  if (cpu_of(program.target).cores < 2) return {std::move(program)};
  const Stage& s = program.graph.stages[stage];
  const std::optional<size_t> rows = rows_axis(s, tile, accesses_of(program.graph, s));
  const Nest& nest = nest_of(program, stage);
  if (!rows || !nest.attached.empty() || tile_begin(nest) < 2 || nest.loops[0].axis != *rows ||
      nest.loops[1].axis != *tile.vector_axis)
    return {std::move(program)};
  if (terms_of(s.domain) < thresholds().many_terms ||
      row_bytes(s, s.domain.extents[*rows]) > static_cast<double>(machine.l2_bytes) / 2)
    return {std::move(program)};
  const TaskCosts costs(program, stage, tile, machine);
  if (costs.along(*tile.vector_axis) > (1 - thresholds().tasks_gain) * costs.along(*rows))
    return {std::move(program)};
  if (!choices.keeps(Decision::Order, program.graph, s)) return {std::move(program)};
  std::vector<size_t> order(nest.loops.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::swap(order[0], order[1]);
  return {reorder(std::move(program), stage, order), true};
}

}  // namespace adjit::sched
