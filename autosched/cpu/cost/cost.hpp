// autosched/cpu/cost/cost.hpp -- how long a program would take: a roofline over what its kernels
// do.
//
// An analytic model: the features of each nest (features.hpp) times what the machine needs for one
// of each. A core computes while its caches are filled, so a nest takes the larger of the two
// sides, and a part of the smaller. A small network (network.hpp) then says how far each term
// of a nest like this one is off. Everything is a pure function of program and machine: nothing is
// measured.
//
// Worked example, C = A B with 512^3 in a 12 x 32 tile on the reference core (512-bit multiply-adds
// one a cycle): 512^3 / 16 operations are 8.4 M cycles, 2.27 ms at 3.7 GHz; 11 % of that in loads
// is hidden behind them.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "autosched/cpu/cost/features.hpp"
#include "autosched/machine/cpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

enum class CostTerm : uint8_t {
  Arithmetic,  // vector operations, masks and folding included
  Loads,       // of vectors and stores, with those whose lanes lie apart
  Latency,     // chains of accumulations
  Loops,       // steps of serial loops, starts of nests
  L2,          // lines from L2
  L3,          // from L3
  Memory,      // from memory
  Scattered,   // lines at addresses that no prefetcher foresees
};
inline constexpr size_t kCostTerms = 8;
/// "arithmetic", "loads", ...
std::string_view name_of(CostTerm term);

/// Microseconds by term, on one core, as if nothing else were done.
using CostTerms = std::array<double, kCostTerms>;
/// In which the core computes: the longest of what it does at once, and its loops.
double compute_time(const CostTerms& terms);

struct NestCost {
  size_t stage = 0;
  CostTerms terms{};           // corrected
  CostTerms analytic{};        // before that
  std::vector<double> inputs;  // of the network
  double microseconds = 0;     // of one core, what overlaps counted once
};

class CostNetwork;

/// One call of a kernel.
struct KernelCost {
  const Program* program = nullptr;  // of the kernel, which may be that of a scan's steps
  size_t kernel = 0;
  int64_t calls = 1;  // in one run
  std::vector<NestCost> nests;
  bool parallel = false;
  double tasks = 1;
  double cores = 1;         // kept busy, on average
  double entry = 0;         // microseconds to call it and to hand out its tasks
  double microseconds = 0;  // in all
};

struct ProgramCost {
  std::vector<KernelCost> kernels;  // in the order in which they first run, scans' steps in place
  double microseconds = 0;          // of one run
};

/// Linear in the program's size. `program` must outlive the result.
ProgramCost predict(const Program& program, const CpuMachine& machine);
/// With other weights than those that the library was built with; null: the analytic model alone.
ProgramCost predict(const Program& program, const CpuMachine& machine, const CostNetwork* network);
/// Of one kernel, which is no scan, called once and by itself: as if it were in no chain.
KernelCost kernel_cost(const Program& program, size_t kernel, const CpuMachine& machine,
                       const CostNetwork* network);

/// The least microseconds that so many floating operations and bytes through memory take on all
/// cores: the roofline. 0 flops: unknown, bytes only.
double roofline(double flops, double bytes, const CpuMachine& machine, bool from_memory);

}  // namespace adjit::sched
