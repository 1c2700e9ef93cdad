// autosched/gpu/cost/cost.cpp -- how long a program would take on a GPU.
#include "autosched/gpu/cost/cost.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>

#include "autosched/analysis/exact_counts.hpp"
#include "autosched/analysis/footprint.hpp"
#include "autosched/analysis/kernel_calls.hpp"
#include "autosched/analysis/work.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/threads.hpp"

namespace adjit::sched {
namespace {

constexpr double kLanesOfScheduler = 32;  // instructions of lanes that a scheduler starts a cycle
constexpr double kAddressOperations = 2;  // of an access
// A load from memory takes about 650 ns (measured); a thread has about four at once.
constexpr double kStepMicroseconds = 0.65 / 4;
// A copy reaches nine tenths of what the memory's clock and width say (3010 of 3350, measured).
constexpr double kMemoryShare = 0.9;

double& at(GpuCostTerms& terms, GpuCostTerm term) { return terms[static_cast<size_t>(term)]; }

double lanes_of(const GpuMachine& machine) {
  return kLanesOfScheduler * kWarpSchedulers * machine.multiprocessors;
}

bool moves(const Stride& stride) { return stride.bytes != 0 || stride.data; }

// What the threads of a warp and the lanes of a thread do for one access.
struct WarpAccess {
  double instructions = 1;  // of a thread
  double sectors = 1;       // of the warp
};

// So many places these many bytes apart, each of `bytes`.
double sectors_of(double places, const Stride& stride, double bytes) {
  const double sector = kSectorBytes;
  const double own = std::ceil(bytes / sector);
  if (!moves(stride)) return own;
  if (stride.data || std::abs(stride.bytes) >= sector) return places * own;
  return std::ceil((places - 1) * std::abs(stride.bytes) / sector + bytes / sector);
}

// `side_by_side`: the kind of loops whose iterations are threads that lie side by side.
WarpAccess access_of(const Walk& walk, const std::vector<Loop>& path, LoopKind side_by_side) {
  WarpAccess access;
  double bytes = walk.element_bytes;
  double apart = 1;
  if (!path.empty() && path.back().kind == LoopKind::Vector) {
    const Stride& stride = walk.strides.back();
    const auto lanes = static_cast<double>(path.back().trips);
    if (!stride.data && std::abs(stride.bytes) == walk.element_bytes)
      bytes *= lanes;
    else if (moves(stride))
      access.instructions = apart = lanes;
  }
  size_t last = path.size();
  for (size_t l = 0; l < path.size(); ++l)
    if (path[l].kind == side_by_side) last = l;
  if (last == path.size()) {
    access.sectors = apart * std::ceil(bytes / kSectorBytes);
    return access;
  }
  const double neighbours =
      std::clamp<double>(static_cast<double>(path[last].trips), 1, kWarpThreads);
  access.sectors =
      apart * kWarpThreads / neighbours * sectors_of(neighbours, walk.strides[last], bytes);
  return access;
}

bool at_once(const Loop& loop) {
  return loop.kind == LoopKind::Parallel || loop.kind == LoopKind::Thread;
}

// How often a thread's loops run the access, all threads together; loops inside the last one that
// moves it keep what it read, and those of a reduction keep what they will store. `results`: output
// axes of the nest.
double executions_of(const Walk& walk, const PlacedNest& placed, size_t results) {
  const std::vector<Loop>& path = placed.path;
  size_t end = 0;
  for (size_t l = 0; l < path.size(); ++l)
    if (moves(walk.strides[l])) end = l + 1;
  const auto reduces = [&](size_t l) { return l >= placed.first && path[l].axis >= results; };
  double count = 1;
  for (size_t l = 0; l < path.size(); ++l) {
    if (walk.store && reduces(l)) continue;
    if (at_once(path[l]) || (l < end && path[l].kind != LoopKind::Vector))
      count *= static_cast<double>(path[l].trips);
  }
  return count;
}

class KernelCounter {
 public:
  KernelCounter(const Program& program, size_t kernel, const GpuMachine& machine, bool from_memory)
      : program_(program), machine_(machine), from_memory_(from_memory) {
    cost_.program = &program;
    cost_.kernel = kernel;
    cost_.threads = static_cast<double>(
        std::max<int64_t>(1, task_count(root()) / tasks_in_turn(program, root())));
    if (!is_block_kernel(program.kernels[kernel])) return;
    side_by_side_ = LoopKind::Thread;
    cost_.threads *= static_cast<double>(block_threads(program.kernels[kernel]));
  }

  GpuKernelCost operator()() {
    for (const PlacedNest& nest : placed_nests(program_, program_.kernels[cost_.kernel])) add(nest);
    const double busy = std::min(1.0, cost_.threads / lanes_of(machine_));
    const double resident =
        static_cast<double>(machine_.multiprocessors) * static_cast<double>(machine_.threads);
    at(cost_.terms, GpuCostTerm::Launch) = machine_.launch_microseconds;
    at(cost_.terms, GpuCostTerm::Arithmetic) =
        1e-3 * instructions_ / (busy * lanes_of(machine_) * machine_.ghz);
    at(cost_.terms, GpuCostTerm::L2) = 1e-3 * sectors_ * kSectorBytes / machine_.l2_gb;
    double bytes = 0;
    for (const auto& [tensor, touched] : touched_) bytes += touched;
    if (from_memory_)
      at(cost_.terms, GpuCostTerm::Memory) = 1e-3 * bytes / (kMemoryShare * machine_.memory_gb);
    at(cost_.terms, GpuCostTerm::Latency) =
        std::max(1.0, cost_.threads / resident) * steps_ * kStepMicroseconds;
    cost_.microseconds =
        cost_.terms[0] + *std::ranges::max_element(cost_.terms.begin() + 1, cost_.terms.end());
    return cost_;
  }

 private:
  const Nest& root() const { return program_.kernels[cost_.kernel].root; }

  void add(const PlacedNest& placed) {
    const Stage& stage = program_.graph.stages[placed.nest->stage];
    double points = 1, vectors = 1;
    for (const Loop& loop : placed.path) {
      const auto trips = static_cast<double>(loop.trips);
      points *= trips;
      if (loop.kind != LoopKind::Vector) vectors *= trips;
    }
    // Each point of a scatter writes.
    const size_t results =
        stage.kind == StageKind::Scatter ? stage.domain.rank() : stage.domain.output_rank;
    WorkMeter meter(program_.graph.pool);
    instructions_ += meter(stage.bodies).cost * points;
    steps_ += steps_of(placed);
    std::map<std::pair<uint32_t, bool>, double> here;  // bytes that the nest touches
    for (const Walk& walk : placed.walks) {
      if (walk.local) continue;
      const WarpAccess access = access_of(walk, placed.path, side_by_side_);
      const double executions = std::min(executions_of(walk, placed, results), vectors);
      instructions_ += executions * (access.instructions + kAddressOperations);
      sectors_ += executions / kWarpThreads * access.sectors;
      double& touched = here[{walk.tensor.value, walk.store}];
      touched = std::min(walk.most_bytes, touched + points * walk.element_bytes);
    }
    // What the nests of a kernel read more than once comes from memory once.
    for (const auto& [tensor, touched] : here)
      touched_[tensor] = std::max(touched_[tensor], touched);
  }

  // How often a thread waits for memory: not where a nest reads what its block has at hand, and of
  // what is loaded ahead, all at once, for one of several iterations.
  static double steps_of(const PlacedNest& placed) {
    if (std::ranges::all_of(placed.walks,
                            [](const Walk& walk) { return walk.local || walk.store; }))
      return 0;
    const Nest& nest = *placed.nest;
    const size_t count = nest.buffers > 1 ? placed.first : placed.path.size();
    double steps = 1;
    for (const Loop& loop : std::span(placed.path).first(count))
      if (loop.kind == LoopKind::Serial) steps *= static_cast<double>(loop.trips);
    return nest.buffers > 1 ? steps / static_cast<double>(nest.buffers - 1) : steps;
  }

  const Program& program_;
  const GpuMachine& machine_;
  bool from_memory_;
  LoopKind side_by_side_ = LoopKind::Parallel;  // tasks are threads', or blocks'
  GpuKernelCost cost_;
  double instructions_ = 0, sectors_ = 0, steps_ = 0;
  std::map<std::pair<uint32_t, bool>, double> touched_;  // bytes, by tensor, read and written
};

}  // namespace

std::string_view name_of(GpuCostTerm term) {
  switch (term) {
    case GpuCostTerm::Launch: return "launch";
    case GpuCostTerm::Arithmetic: return "arithmetic";
    case GpuCostTerm::L2: return "L2";
    case GpuCostTerm::Memory: return "memory";
    case GpuCostTerm::Latency: return "latency";
  }
  return "";
}

GpuProgramCost predict(const Program& program, const GpuMachine& machine) {
  GpuProgramCost total;
  std::unordered_map<const Program*, bool> from_memory;
  for (const KernelCalls& called : kernel_calls(program)) {
    const auto [known, is_new] = from_memory.try_emplace(called.program, false);
    if (is_new) known->second = leaves_l2(*called.program, machine);
    GpuKernelCost cost = KernelCounter(*called.program, called.kernel, machine, known->second)();
    cost.calls = called.calls;
    total.microseconds += static_cast<double>(cost.calls) * cost.microseconds;
    total.kernels.push_back(cost);
  }
  return total;
}

double roofline(double flops, double bytes, const GpuMachine& machine, bool from_memory) {
  // A multiply-add of float32 is two operations.
  const double arithmetic = 1e-3 * flops / (2 * lanes_of(machine) * machine.ghz);
  return std::max(arithmetic, 1e-3 * bytes / (from_memory ? machine.memory_gb : machine.l2_gb));
}

bool leaves_l2(const Program& program, const GpuMachine& machine) {
  double bytes = 0;
  for (uint32_t t = 0; t < program.graph.tensors.size(); ++t)
    if (program.scopes[t] == Scope::Argument || program.scopes[t] == Scope::Workspace)
      bytes += static_cast<double>(tensor_bytes(program.graph, TensorId{t}));
  return bytes > static_cast<double>(machine.l2_bytes);
}

}  // namespace adjit::sched
