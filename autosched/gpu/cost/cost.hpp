// autosched/gpu/cost/cost.hpp -- how long a program would take on a GPU.
//
// An analytic model of each kernel: its launch, and the longest of what it does at once
// (requests.hpp says what it asks for). Nothing comes from memory where everything that the program
// keeps stays in L2; threads compute side by side; and where they are few, each waits for what it
// reads. Everything is a pure function of program and machine: nothing is measured.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

enum class GpuCostTerm : uint8_t {
  Launch,      // from the kernel before to this one
  Arithmetic,  // instructions, those of addresses and accesses included
  Access,      // lines that warps ask their multiprocessor's cache and shared memory for
  L2,          // sectors that those caches do not have
  Memory,      // bytes that L2 does not have
  Latency,     // a thread's steps, one after the other
};
inline constexpr size_t kGpuCostTerms = 6;
/// "launch", "arithmetic", ...
std::string_view name_of(GpuCostTerm term);

/// Microseconds by term, as if nothing else were done.
using GpuCostTerms = std::array<double, kGpuCostTerms>;

/// One call of a kernel.
struct GpuKernelCost {
  const Program* program = nullptr;  // of the kernel, which may be that of a scan's steps
  size_t kernel = 0;
  int64_t calls = 1;  // in one run
  double threads = 1;
  GpuCostTerms terms{};
  double microseconds = 0;  // the launch and the longest of the others
};

struct GpuProgramCost {
  std::vector<GpuKernelCost>
      kernels;                    // in the order in which they first run, scans' steps in place
  double graph_microseconds = 0;  // launches of graphs, of which kernels are nodes
  double microseconds = 0;        // of one run: these, and all calls
};

/// Of one call of a kernel; the steps of scans have no cost of their own. `from_memory`: leaves_l2.
/// `program` must outlive the result.
GpuKernelCost predict_kernel(const Program& program, size_t kernel, const GpuMachine& machine,
                             bool from_memory);

/// Kernels that are nodes of a graph wait less for each other. Linear in the program's size.
/// `program` must outlive the result.
GpuProgramCost predict(const Program& program, const GpuMachine& machine);

/// The least microseconds that so many floating operations and bytes through memory take: the
/// roofline. 0 flops: unknown, bytes only.
double roofline(double flops, double bytes, const GpuMachine& machine, bool from_memory);

/// Whether the program's tensors together are more than L2 holds.
bool leaves_l2(const Program& program, const GpuMachine& machine);

}  // namespace adjit::sched
