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

// Which calls of a run are nodes of a graph, and how many graphs there are, as sections_of
// (jit/engine/run/cuda_sections.hpp) cuts a plan.
class Graphs {
 public:
  explicit Graphs(const std::vector<KernelCalls>& all) : is_node_(all.size(), false) {
    size_t begin = 0;
    double calls = 0;
    for (size_t k = 0, end = 0; k < all.size(); k = end) {
      // The kernels of a scan are one step; where data says how often they run, they are in none.
      bool known = true;
      double step = 0;
      for (end = k; end == k || (end < all.size() && all[k].scan && all[end].scan == all[k].scan);
           ++end) {
        known = known && all[end].calls > 0;
        step += static_cast<double>(all[end].calls);
      }
      const bool may = known && step <= kMostGraphKernels;
      if (!may || calls + step > kMostGraphKernels) {
        close(begin, k, calls);
        begin = may ? k : end;
        calls = 0;
      }
      if (may) calls += step;
    }
    close(begin, all.size(), calls);
  }

  bool is_node(size_t call) const { return is_node_[call]; }
  double count() const { return count_; }

 private:
  void close(size_t begin, size_t end, double calls) {
    if (calls < kLeastGraphKernels) return;
    std::fill(is_node_.begin() + static_cast<long>(begin),
              is_node_.begin() + static_cast<long>(end), true);
    ++count_;
  }

  std::vector<bool> is_node_;
  double count_ = 0;
};

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
  const Graphs graphs(all);
  total.graph_microseconds = graphs.count() * machine.graph_microseconds;
  total.microseconds = total.graph_microseconds;
  for (size_t k = 0; k < all.size(); ++k) {
    const KernelCalls& called = all[k];
    const auto [known, is_new] = from_memory.try_emplace(called.program, false);
    if (is_new) known->second = leaves_l2(*called.program, machine);
    GpuKernelCost cost = predict_kernel(*called.program, called.kernel, machine, known->second);
    cost.calls = called.calls;
    if (graphs.is_node(k)) {
      double& launch = at(cost.terms, GpuCostTerm::Launch);
      cost.microseconds += machine.node_microseconds - launch;
      launch = machine.node_microseconds;
    }
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
