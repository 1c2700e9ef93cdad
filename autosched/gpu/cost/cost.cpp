// autosched/gpu/cost/cost.cpp -- how long a program would take on a GPU.
#include "autosched/gpu/cost/cost.hpp"

#include <algorithm>
#include <unordered_map>

#include "autosched/analysis/exact_counts.hpp"
#include "autosched/analysis/kernel_calls.hpp"
#include "autosched/gpu/cost/requests.hpp"

namespace adjit::sched {
namespace {

constexpr double kLanesOfScheduler = 32;    // instructions of lanes that a scheduler starts a cycle
constexpr double kWaitMicroseconds = 0.65;  // for memory (measured)
// A copy reaches nine tenths of what the memory's clock and width say (3010 of 3350, measured).
constexpr double kMemoryShare = 0.9;

double& at(GpuCostTerms& terms, GpuCostTerm term) { return terms[static_cast<size_t>(term)]; }

// Whether the calls of a run, as many as they are at most, are nodes of a graph. Of more some are
// (cuda_sections.hpp): none is the guess.
bool are_a_graph(const std::vector<KernelCalls>& all) {
  double calls = 0;
  for (const KernelCalls& called : all) calls += static_cast<double>(called.calls);
  return calls >= kLeastGraphKernels && calls <= kMostGraphKernels;
}

void be_node(GpuKernelCost& cost, const GpuMachine& machine) {
  double& launch = at(cost.terms, GpuCostTerm::Launch);
  cost.microseconds += machine.node_microseconds - launch;
  launch = machine.node_microseconds;
}

double lanes_of(const GpuMachine& machine) {
  return kLanesOfScheduler * kWarpSchedulers * machine.multiprocessors;
}

}  // namespace

std::string_view name_of(GpuCostTerm term) {
  switch (term) {
    case GpuCostTerm::Launch: return "launch";
    case GpuCostTerm::Arithmetic: return "arithmetic";
    case GpuCostTerm::Access: return "access";
    case GpuCostTerm::L2: return "L2";
    case GpuCostTerm::Memory: return "memory";
    case GpuCostTerm::Latency: return "latency";
  }
  return "";
}

GpuKernelCost predict_kernel(const Program& program, size_t kernel, const GpuMachine& machine,
                             bool from_memory) {
  const Requests asked = requests_of(program, kernel, machine);
  GpuKernelCost cost{.program = &program, .kernel = kernel, .threads = asked.threads};
  const double multiprocessors = machine.multiprocessors;
  const double busy = std::min(1.0, asked.threads / lanes_of(machine));
  GpuCostTerms& terms = cost.terms;
  at(terms, GpuCostTerm::Launch) = machine.launch_microseconds;
  at(terms, GpuCostTerm::Arithmetic) =
      1e-3 * asked.instructions / (busy * lanes_of(machine) * kClockShare * machine.ghz);
  at(terms, GpuCostTerm::Access) =
      1e-3 * asked.access_cycles /
      (std::min(asked.blocks, multiprocessors) * kClockShare * machine.ghz);
  at(terms, GpuCostTerm::L2) = 1e-3 * asked.sectors * kSectorBytes / machine.l2_gb;
  if (from_memory)
    at(terms, GpuCostTerm::Memory) = 1e-3 * asked.bytes / (kMemoryShare * machine.memory_gb);
  at(terms, GpuCostTerm::Latency) =
      std::max(1.0, asked.threads / (multiprocessors * asked.resident)) * asked.waits *
      kWaitMicroseconds;
  cost.microseconds = terms[0] + *std::ranges::max_element(terms.begin() + 1, terms.end());
  return cost;
}

GpuProgramCost predict(const Program& program, const GpuMachine& machine) {
  GpuProgramCost total;
  std::unordered_map<const Program*, bool> from_memory;
  const std::vector<KernelCalls> all = kernel_calls(program);
  const bool is_graph = are_a_graph(all);
  if (is_graph) total.microseconds = machine.graph_microseconds;
  for (const KernelCalls& called : all) {
    const auto [known, is_new] = from_memory.try_emplace(called.program, false);
    if (is_new) known->second = leaves_l2(*called.program, machine);
    GpuKernelCost cost = predict_kernel(*called.program, called.kernel, machine, known->second);
    cost.calls = called.calls;
    if (is_graph && called.calls > 0) be_node(cost, machine);
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
