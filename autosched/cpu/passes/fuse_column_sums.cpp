// autosched/cpu/passes/fuse_column_sums.cpp -- which kernels these are.
#include "autosched/cpu/passes/fuse_column_sums.hpp"

#include <algorithm>
#include <optional>

#include "autosched/analysis/exact_counts.hpp"
#include "autosched/analysis/task_footprint.hpp"
#include "autosched/analysis/work.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {
namespace {

StageKey key_of_root(const Program& program, size_t kernel) {
  return stage_key(program.graph.stages[program.kernels[kernel].root.stage]);
}

// The kernel of rows right before a kernel of parts.
struct Pair {
  size_t rows, parts;  // kernels
  int64_t height;      // rows of a part
};

class PartChainer {
 public:
  PartChainer(Program program, const CpuMachine& machine, const ReductionPlans& plans,
              TaskLoops& tasks)
      : program_(std::move(program)), machine_(machine), plans_(plans), tasks_(tasks) {}

  Program operator()() {
    for (size_t k = 1; k < program_.kernels.size(); ++k) {
      const std::optional<Pair> pair = pair_at(k);
      if (!pair || !pays(*pair)) continue;
      const int64_t steps[] = {pair->height};
      const size_t root = program_.kernels[pair->rows].root.stage;
      Program apart =
          tile(program_, root, program_.kernels[pair->rows].root.loops.front().axis, steps);
      if (!TaskRegions(apart).follows(pair->rows, pair->parts, 1)) continue;
      program_ = std::move(apart);
      tasks_[key_of_root(program_, pair->rows)] = 1;
      tasks_[key_of_root(program_, pair->parts)] = 1;
    }
    return std::move(program_);
  }

 private:
  std::optional<Pair> pair_at(size_t k) const {
    const Nest &rows = program_.kernels[k - 1].root, &parts = program_.kernels[k].root;
    const auto planned = plans_.find(key_of_root(program_, k));
    if (planned == plans_.end() || !planned->second.in_parts) return std::nullopt;
    if (plans_.contains(key_of_root(program_, k - 1)) ||
        tasks_.contains(key_of_root(program_, k - 1)) || tasks_.contains(key_of_root(program_, k)))
      return std::nullopt;
    const Stage& row = program_.graph.stages[rows.stage];
    if (row.kind != StageKind::Compute || running_of(program_.graph, row) ||
        rows.loops.size() < 2 || parts.loops.empty() ||
        rows.loops[0].axis >= row.domain.output_rank)
      return std::nullopt;
    const Loop& loop = rows.loops[0];  // over rows, or groups of them
    const int64_t count = parts.loops[0].trips, height = loop.trips * loop.step / count;
    if (parts.loops[0].axis != 0 || count < 2 || loop.kind != LoopKind::Serial ||
        height * count != loop.trips * loop.step || height <= loop.step || height % loop.step != 0)
      return std::nullopt;
    return Pair{k - 1, k, height};
  }

  // What both read or write leaves the caches as a whole, but not one part of it.
  bool pays(const Pair& pair) const {
    const std::vector<TensorId> first = tensors_in_memory(program_, program_.kernels[pair.rows]);
    const std::vector<TensorId> second = tensors_in_memory(program_, program_.kernels[pair.parts]);
    double common = 0, all = 0;
    for (TensorId id : first) {
      const auto bytes = static_cast<double>(tensor_bytes(program_.graph, id));
      all += bytes;
      if (std::ranges::binary_search(second, id)) common += bytes;
    }
    const double count = static_cast<double>(program_.kernels[pair.parts].root.loops.front().trips);
    const auto cache = static_cast<double>(machine_.l2_bytes);
    return count >= 4 * machine_.cores && common >= cache * std::max(machine_.cores, 2) &&
           all / count <= cache;
  }

  Program program_;
  const CpuMachine& machine_;
  const ReductionPlans& plans_;
  TaskLoops& tasks_;
};

}  // namespace

int64_t parts_of_columns(double bytes, int64_t rows, int64_t fewest, const CpuMachine& machine) {
  const double wanted = bytes / (thresholds().column_share * static_cast<double>(machine.l2_bytes));
  if (wanted <= static_cast<double>(fewest)) return fewest;
  constexpr int64_t kMostParts = 4096;
  int64_t most = fewest;  // of equal size
  for (int64_t parts = fewest; parts <= std::min(rows / thresholds().part_rows, kMostParts);
       ++parts) {
    if (rows % parts != 0) continue;
    most = parts;
    if (static_cast<double>(parts) >= wanted) break;
  }
  return most;
}

bool follows_rows(const LoweredGraph& graph, const Stage& sum, const Accesses& accesses,
                  size_t axis) {
  const std::vector<size_t> producers = defining_stages(graph);
  return std::ranges::any_of(accesses.reads, [&](const MemoryAccess& access) {
    const size_t producer = producers[access.tensor.value];
    if (producer == SIZE_MAX || !access.depends_on(axis)) return false;
    const Stage& made = graph.stages[producer];
    if (made.kind != StageKind::Compute || running_of(graph, made)) return false;
    if (made.combiner.kind == CombinerKind::None && made.domain.output_rank > 1) return true;
    for (size_t a = 0; a < sum.domain.output_rank; ++a)
      if (access.depends_on(a)) return false;
    return true;
  });
}

Program chain_parts(Program program, const CpuMachine& machine, const ReductionPlans& plans,
                    TaskLoops& tasks) {
  return PartChainer(std::move(program), machine, plans, tasks)();
}

}  // namespace adjit::sched
