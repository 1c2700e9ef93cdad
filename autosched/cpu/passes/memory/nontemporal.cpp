// autosched/cpu/passes/memory/nontemporal.cpp -- which results go to memory past the caches.
#include "autosched/cpu/passes/memory/nontemporal.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "autosched/analysis/exact_counts.hpp"
#include "autosched/cpu/cost/cost.hpp"
#include "autosched/cpu/cost/features.hpp"
#include "autosched/machine/core_time.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {
namespace {

// Whether nothing in the program reads the stage's results again, which leave L2.
bool are_left(const Program& program, const Stage& stage, const CpuMachine& machine) {
  return std::ranges::all_of(stage.results, [&](TensorId id) {
    return program.scopes[id.value] == Scope::Argument && program.readers[id.value].empty() &&
           tensor_bytes(program.graph, id) > machine.l2_bytes;
  });
}

// Whether the nest stores every element once.
bool stores_once(const Nest& nest, const Stage& stage) {
  const auto is_output = [&](const Loop& loop) { return loop.axis < stage.domain.output_rank; };
  const auto tile = nest.loops.begin() + static_cast<long>(tile_begin(nest));
  const auto reduction = std::ranges::find_if_not(nest.loops.begin(), tile, is_output);
  return std::none_of(reduction, tile, is_output);
}

// Whether lines are written whole, in aligned vectors, a few at a time.
bool writes_lines(const Program& program, const Nest& nest, const Stage& stage) {
  const size_t rank = stage.domain.output_rank;
  if (nest.loops.empty() || nest.loops.back().kind != LoopKind::Vector) return false;
  const Loop& lanes = nest.loops.back();
  if (rank == 0 || lanes.axis != rank - 1) return false;
  if (stage.domain.extents[lanes.axis] % lanes.trips != 0) return false;
  int64_t bytes = kLineBytes, rows = static_cast<int64_t>(stage.results.size());
  for (TensorId id : stage.results)
    bytes =
        std::min(bytes, static_cast<int64_t>(size_of(program.graph.info(id).dtype)) * lanes.trips);
  if (bytes < kLeastStreamed) return false;
  const size_t tile = tile_begin(nest);
  for (size_t l = tile; l + 1 < nest.loops.size(); ++l) {
    const Loop& loop = nest.loops[l];
    if (loop.axis == lanes.axis) {
      bytes *= loop.trips;
    } else if (loop.axis < rank) {
      rows *= loop.trips;
    }
  }
  if (bytes >= kLineBytes) return true;
  // The rest of a line is written by the next steps.
  size_t next = tile;
  while (next > 0 && nest.loops[next - 1].axis >= rank) --next;
  return rows <= cpu_of(program.target).core.open_lines && next > 0 &&
         nest.loops[next - 1].axis == lanes.axis;
}

// Whether the memory takes about as long as the cores.
bool waits_for_memory(const KernelCost& cost, const CpuMachine& machine) {
  double core = 0, memory = 0;
  for (const NestCost& nest : cost.nests) {
    core += compute_time(nest.analytic);
    memory += nest.analytic[static_cast<size_t>(CostTerm::Memory)];
  }
  return from_shared_memory(machine, memory) > thresholds().nontemporal_share * core / cost.cores;
}

}  // namespace

Program stream_results(Program program, const CpuMachine& machine, Choices& choices) {
  const auto last = static_cast<double>(machine.l3_bytes);
  if (program_bytes(program, last) <= last) return program;
  std::vector<std::pair<size_t, size_t>> could;  // kernels, stages
  for (size_t k = 0; k < program.kernels.size(); ++k) {
    if (program.kernels[k].steps) continue;
    for_each_nest(program.kernels[k].root, [&](const Nest& nest) {
      const Stage& stage = program.graph.stages[nest.stage];
      if (stage.kind == StageKind::Compute && !running_of(program.graph, stage) &&
          are_left(program, stage, machine) && stores_once(nest, stage) &&
          writes_lines(program, nest, stage))
        could.emplace_back(k, nest.stage);
    });
  }
  std::vector<size_t> streamed;
  std::optional<size_t> kernel;
  bool waits = false;
  for (const auto& [k, stage] : could) {
    if (kernel != k) waits = waits_for_memory(kernel_cost(program, k, machine, nullptr), machine);
    kernel = k;
    if (waits && choices.keeps(Decision::Nontemporal, program.graph, program.graph.stages[stage]))
      streamed.push_back(stage);
  }
  for (size_t stage : streamed) program = store_nontemporal(std::move(program), stage);
  return program;
}

}  // namespace adjit::sched
